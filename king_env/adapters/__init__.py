"""Adapters to other frameworks: one file a framework, imported when it is asked for."""
