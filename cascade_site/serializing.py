"""Serializer building blocks of the API: strictness on the way in, one shape on the way out."""

from typing import Any

from rest_framework import serializers


class StrictSerializer(serializers.Serializer[Any]):
    """A request body: unknown fields are errors, not noise."""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        unknown = sorted(set(data) - set(self.fields))
        if unknown:
            raise serializers.ValidationError({name: "This field is not known here." for name in unknown})
        return value


class IntegerArray(serializers.ListField):
    """``[x, y, z]``."""

    child = serializers.IntegerField()
