"""Certificates on nasty data: one file per family of estimators."""
