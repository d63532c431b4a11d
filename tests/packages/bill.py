"""Validates bills of materials against the schema of CycloneDX 1.6. Prints what is wrong and fails. usage: bill.py FILE..."""
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

wrong = 0
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(file.read())
    if problem:
        print(f"{path}: {problem}")
        wrong = 1
sys.exit(wrong)
