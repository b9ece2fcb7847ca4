"""Pictures and pages of what is already computed."""
