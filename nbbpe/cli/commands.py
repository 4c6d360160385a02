"""The group of all subcommands of `nbbpe`. Each subcommand reads its options, calls the library, and prints the result."""

from __future__ import annotations

import importlib

import click

from ..model.version import __version__

# The module of each subcommand. Only the requested one is imported, as imports take time; --help imports all.
_MODULES = {
    **dict.fromkeys(["train", "count-words", "extend"], "training_commands"),
    **dict.fromkeys(["encode", "decode", "count"], "encoding_commands"),
    "inspect": "inspection_commands",
    **dict.fromkeys(["compare", "report"], "comparison_commands"),
    **dict.fromkeys(["convert", "warmup"], "conversion_commands"),
}


class _Group(click.Group):
    """Imports the module of a subcommand when the subcommand is requested."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        module = importlib.import_module(f"{__package__}.{_MODULES[cmd_name]}")
        return getattr(module, cmd_name.replace("-", "_"))


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, message="nbbpe %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
def nbbpe() -> None:
    """Train byte-level BPE tokenizers, and turn text into ids.

    A TOKENIZER is a folder or file that nbbpe can read. If none is given, it is the one that the environment variable
    NBBPE_TOKENIZER names. A text may be `-`, which is stdin as plain text.
    """
