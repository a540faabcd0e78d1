"""Campaigns against campaigns, frameworks and rules."""
