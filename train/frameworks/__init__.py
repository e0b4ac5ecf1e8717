"""King trained with other frameworks: a script of about one screen each, see docs/frameworks.md."""
