"""Judges requests of the JSON protocols by AWS's service models: their faults, and the errors of their operations."""

import base64
import json
import sys

import botocore.session
from botocore.validate import ParamValidator

session = botocore.session.get_session()


def decoded(value, shape):
    """Returns the value with its bytes as bytes: botocore takes any text for bytes."""
    if shape.type_name == "blob":
        return base64.b64decode(value, validate=True)
    if shape.type_name == "string" and shape.enum and value not in shape.enum:
        raise ValueError(f"{value} is none of {shape.enum}")
    if isinstance(value, dict):
        shapes = {name: shape.value for name in value} if shape.type_name == "map" else shape.members
        return {name: decoded(one, shapes[name]) if name in shapes else one for name, one in value.items()}
    return [decoded(one, shape.member) for one in value] if isinstance(value, list) else value


def judge(request):
    model = session.get_service_model(request["service"])
    prefix, _, operation = request["target"].rpartition(".")
    if operation not in model.operation_names:
        return {"operation": operation, "faults": [f"{operation} is no operation"], "errors": []}
    given = (prefix, request["contentType"])
    right = (model.metadata["targetPrefix"], f"application/x-amz-json-{model.metadata['jsonVersion']}")
    found = [] if given == right else [f"{operation}: {given}, not {right}"]
    shapes = model.operation_model(operation).error_shapes
    errors = [shape.name for shape in shapes]
    words = {shape.name: shape.documentation for shape in shapes}
    shape = model.operation_model(operation).input_shape
    try:
        report = ParamValidator().validate(decoded(json.loads(request["body"]), shape), shape)
        found += [report.generate_report()] if report.has_errors() else []
    except (AttributeError, TypeError, ValueError) as error:
        found.append(f"{operation}: {error}")
    return {"operation": operation, "faults": found, "errors": errors, "words": words}


print(json.dumps([judge(request) for request in json.load(sys.stdin)]))
