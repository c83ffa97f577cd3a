"""`sparrot completion`: scripts for bash, zsh and fish, made from the parser itself."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sparrot.cli.parser import make_parser
from sparrot.cli.session import Session


@dataclass(frozen=True, slots=True)
class Word:
    """An option, or an argument without a name (no flags), and what may follow."""

    flags: tuple[str, ...]
    help: str
    choices: tuple[str, ...]
    takes_value: bool


@dataclass(frozen=True, slots=True)
class Command:
    """A command and its words."""

    name: str
    help: str
    words: tuple[Word, ...]


def run(options: Namespace, session: Session) -> None:
    """Print the script."""
    writer = {"bash": bash, "zsh": zsh, "fish": fish}[options.shell]
    print("\n".join(writer(*grammar(make_parser()))))


def grammar(parser: argparse.ArgumentParser) -> tuple[tuple[Command, ...], tuple[Word, ...]]:
    """The commands of a parser, and the options that stand in place of one."""
    (table,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    helps = {action.dest: action.help or "" for action in table._choices_actions}
    known = tuple(
        Command(name, helps[name], tuple(map(_word, sub._actions)))
        for name, sub in table.choices.items()
    )
    return known, tuple(_word(action) for action in parser._actions if action is not table)


def _word(action: argparse.Action) -> Word:
    choices = tuple(map(str, action.choices or ()))
    return Word(tuple(action.option_strings), action.help or "", choices, action.nargs != 0)


def bash(known: tuple[Command, ...], instead: tuple[Word, ...]) -> Iterator[str]:
    """A function for `complete`; where it has nothing to say, file names."""
    yield "_sparrot() {"
    yield '    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"'
    yield '    local words="" word'
    yield "    COMPREPLY=()"
    yield f'    if [[ $COMP_CWORD -eq 1 ]]; then words="{_names(known)} {_flags(instead)}"; fi'
    yield '    case "${COMP_WORDS[1]} $prev" in'
    for command in known:
        yield from _bash_values(command)
    yield "    esac"
    yield '    if [[ -z $words && $cur == -* ]]; then case "${COMP_WORDS[1]}" in'
    for command in known:
        yield f'        {command.name}) words="{_flags(command.words)}" ;;'
    yield '    esac; elif [[ -z $words ]]; then case "${COMP_WORDS[1]}" in'
    for command in known:
        for choices in (word.choices for word in command.words if not word.flags and word.choices):
            yield f'        {command.name}) words="{" ".join(choices)}" ;;'
    yield "    esac"
    yield '        for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do  # one is enough'
    yield '            if [[ " $words " == *" $word "* ]]; then words=""; fi'
    yield "        done"
    yield "    fi"
    yield '    if [[ -n $words ]]; then COMPREPLY=($(compgen -W "$words" -- "$cur")); fi'
    yield "}"
    yield "complete -o default -F _sparrot sparrot"


def _bash_values(command: Command) -> Iterator[str]:
    """What may follow the options of a command that take a value."""
    for word in command.words:
        keys = "|".join(f'"{command.name} {flag}"' for flag in word.flags)
        if word.choices and keys:
            yield f'        {keys}) words="{" ".join(word.choices)}" ;;'
        elif word.takes_value and keys:
            yield f"        {keys}) return ;;"


def zsh(known: tuple[Command, ...], instead: tuple[Word, ...]) -> Iterator[str]:
    """A function for `compdef`, with the help of every word; loads completion where it is not."""
    yield "#compdef sparrot"
    yield "_sparrot() {"
    yield "    if (( CURRENT == 2 )); then"
    yield "        local -a commands=("
    for command in known:
        yield f"            {_quoted(f'{command.name}:{command.help}')}"
    yield "        )"
    yield "        local -a instead=("
    for word in instead:
        yield from (f"            {_quoted(f'{flag}:{word.help}')}" for flag in word.flags)
    yield "        )"
    yield "        _describe 'command' commands -- instead"
    yield "        return"
    yield "    fi"
    yield '    local command="$words[2]"'
    yield "    shift words; (( CURRENT-- ))"
    yield '    case "$command" in'
    for command in known:
        specs = " ".join(_quoted(spec) for word in command.words for spec in _zsh_specs(word))
        yield f"        {command.name}) _arguments {specs} ;;"
    yield "    esac"
    yield "}"
    yield "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }"
    yield "compdef _sparrot sparrot"


def _zsh_specs(word: Word) -> Iterator[str]:
    after = f"({' '.join(word.choices)})" if word.choices else "_files"
    if not word.flags:
        yield f"1:{_plain(word.help)}:{after}"
    for flag in word.flags:
        value = f":value:{after}" if word.takes_value else ""
        yield f"{flag}[{_plain(word.help)}]{value}"


def fish(known: tuple[Command, ...], instead: tuple[Word, ...]) -> Iterator[str]:
    """One `complete` for every word."""
    first = f"not __fish_seen_subcommand_from {_names(known)}"
    for word in instead:
        yield f"complete -c sparrot -f -n '{first}' {_fish_word(word)}"
    for command in known:
        about = _quoted(command.help)
        yield f"complete -c sparrot -f -n '{first}' -a {command.name} -d {about}"
    for command in known:
        where = f"complete -c sparrot -n '__fish_seen_subcommand_from {command.name}'"
        for word in command.words:
            if word.flags or word.choices:
                yield f"{where} {_fish_word(word)}"


def _fish_word(word: Word) -> str:
    parts = [f"-{'l' if f.startswith('--') else 's'} {f.lstrip('-')}" for f in word.flags]
    if word.flags and word.takes_value:
        parts.append("-r")
    if word.choices:
        parts.append(f"-f -a '{' '.join(word.choices)}'")
    return " ".join([*parts, "-d", _quoted(word.help)])


def _names(known: tuple[Command, ...]) -> str:
    return " ".join(command.name for command in known)


def _flags(words: tuple[Word, ...]) -> str:
    return " ".join(flag for word in words for flag in word.flags)


def _plain(text: str) -> str:
    """Help without the characters that mean something to zsh."""
    return text.replace("[", "(").replace("]", ")").replace(":", " -")


def _quoted(text: Any) -> str:
    """One word for the shell."""
    return "'" + str(text).replace("'", "").replace("`", "") + "'"
