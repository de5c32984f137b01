"""Judges requests of the JSON protocols by AWS's service models: the faults of each, and the errors of each operation."""

import base64
import json
import sys

import botocore
import botocore.session
from botocore.validate import ParamValidator

session = botocore.session.get_session()


def decoded(value, shape):
    """Returns the value with its bytes as bytes: botocore takes any text for bytes."""
    if shape.type_name == "blob":
        return base64.b64decode(value, validate=True)
    if shape.type_name == "string" and shape.enum and value not in shape.enum:
        raise ValueError(f"{value} is none of {shape.enum}")
    if shape.type_name == "structure" and isinstance(value, dict):
        return {name: decoded(one, shape.members[name]) if name in shape.members else one for name, one in value.items()}
    if shape.type_name == "map" and isinstance(value, dict):
        return {name: decoded(one, shape.value) for name, one in value.items()}
    if shape.type_name == "list" and isinstance(value, list):
        return [decoded(one, shape.member) for one in value]
    return value


def faults(request, model, operation):
    expected = {
        "target": f"{model.metadata['targetPrefix']}.{operation}",
        "contentType": f"application/x-amz-json-{model.metadata['jsonVersion']}",
    }
    wrong = [f"{name} {request[name]}, not {right}" for name, right in expected.items() if request[name] != right]
    shape = model.operation_model(operation).input_shape
    try:
        report = ParamValidator().validate(decoded(json.loads(request["body"]), shape), shape)
    except (TypeError, ValueError) as error:
        return [*wrong, str(error)]
    return [*wrong, report.generate_report()] if report.has_errors() else wrong


def judge(request):
    model = session.get_service_model(request["service"])
    operation = request["target"].rpartition(".")[2]
    if operation not in model.operation_names:
        return {**request, "faults": [f"no operation {operation} in {request['service']}"], "errors": []}
    errors = [shape.name for shape in model.operation_model(operation).error_shapes]
    return {"operation": operation, "faults": faults(request, model, operation), "errors": errors}


print(json.dumps([judge(request) for request in json.load(sys.stdin)]))
