// Points by WebGL, which also blends positions between two layouts.
// Where WebGL runs in software, the canvas is faster; report.html#webgl takes WebGL all the same.
const VERTEX = `
attribute vec2 before, after;
attribute vec4 color;
uniform vec2 center, scale;
uniform float blend;
uniform mediump float size;
varying vec4 fill;
void main() {
  gl_Position = vec4((mix(before, after, blend) - center) * scale, 0.0, 1.0);
  gl_PointSize = size;
  fill = color;
}`;
const FRAGMENT = `
precision mediump float;
varying vec4 fill;
uniform mediump float size;
void main() {
  float distance = length(gl_PointCoord - 0.5) * size;
  float cover = clamp(0.5 * size - distance + 0.5, 0.0, 1.0) * fill.a;
  if (cover <= 0.0) discard;
  gl_FragColor = vec4(fill.rgb * cover, cover);
}`;

function inSoftware(gl) {
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

class WebGLPoints {
  static make(canvas) {
    const gl = canvas.getContext("webgl", {
      antialias: false,
      preserveDrawingBuffer: true, // for pictures of the page
    });
    if (!gl || (inSoftware(gl) && window.location.hash !== "#webgl")) return null;
    try {
      return new WebGLPoints(canvas, gl);
    } catch (error) {
      console.warn("WebGL does not work here:", error);
      return null;
    }
  }

  constructor(canvas, gl) {
    this.name = "webgl";
    [this.canvas, this.gl] = [canvas, gl];
    const program = gl.createProgram();
    for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.uniform = (name) => gl.getUniformLocation(program, name);
    this.before = this.buffer(program, "before", 2, gl.FLOAT, false);
    this.after = this.buffer(program, "after", 2, gl.FLOAT, false);
    this.color = this.buffer(program, "color", 4, gl.UNSIGNED_BYTE, true);
  }

  buffer(program, name, width, type, normalized) {
    const { gl } = this;
    const buffer = gl.createBuffer();
    const place = gl.getAttribLocation(program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, width, type, normalized, 0, 0);
    return buffer;
  }

  fill(buffer, array) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, array, this.gl.STATIC_DRAW);
  }

  layouts(before, after) {
    this.fill(this.before, before);
    this.fill(this.after, after);
    this.n = after.length / 2;
  }

  colors(rgba) {
    this.fill(this.color, rgba);
  }

  draw(view, blend, size) {
    const { gl, canvas } = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(this.uniform("center"), view.x, view.y);
    gl.uniform2f(this.uniform("scale"), (2 * view.zoom) / canvas.width, (2 * view.zoom) / canvas.height);
    gl.uniform1f(this.uniform("blend"), blend);
    gl.uniform1f(this.uniform("size"), size);
    gl.drawArrays(gl.POINTS, 0, this.n);
  }
}
