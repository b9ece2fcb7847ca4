"""The HTML of a fitted classifier in place of scikit-learn's list of parameters."""

from typing import Any

from sklearn import get_config

from mmbn_opt._lazy import delegate

__all__ = ["FittedHTML"]


class FittedHTML:
    """Mixin: a fitted classifier shows its network and its certificate, an unfitted one its parameters."""

    def _repr_html_inner(self) -> str:
        if not hasattr(self, "certificate_"):
            unfitted: str = super()._repr_html_inner()  # type: ignore[misc]
            return unfitted
        html: str = delegate("classifier_html")(self)
        return html

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._repr_html_inner()
        return bundle
