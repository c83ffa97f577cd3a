from problems import data_folder


def pytest_report_header() -> str:
    folder = data_folder()
    if folder is None:
        return "sparrot data: none (set SPARROT_DATA); scikit-learn's digits stand in for MNIST"
    return f"sparrot data: {folder}"
