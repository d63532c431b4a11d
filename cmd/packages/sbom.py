"""The bill of materials of a program of dq: CycloneDX 1.6 as JSON, of the libraries in cmd/packages/libraries.

usage: sbom.py static | shared VERSION COMMIT COMPILER >FILE     SOURCE_DATE_EPOCH: the moment that it names
"""
import datetime
import json
import os
import sys
import uuid

from libraries import libraries


def component(library):
    licence = {"expression": library.licence} if " " in library.licence else {"license": {"id": library.licence}}
    return {"type": "library", "bom-ref": f"library-{library.name}", "name": library.name, "version": library.upstream(),
            "licenses": [licence], "purl": library.purl}


def bill(kind, version, commit, compiler):
    parts = [component(library) for library in libraries(kind, compiler)]
    moment = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    dq = {"type": "application", "bom-ref": "dq", "name": "dq", "version": version, "licenses": [{"license": {"id": "Apache-2.0"}}],
          "properties": [{"name": "commit", "value": commit}, {"name": "form", "value": kind}]}
    content = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
               "metadata": {"timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": dq},
               "components": parts,
               "dependencies": [{"ref": "dq", "dependsOn": [part["bom-ref"] for part in parts]}]}
    # The same content has the same number.
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "serialNumber": f"urn:uuid:{number}", **content}


if __name__ == "__main__":
    json.dump(bill(*sys.argv[1:5]), sys.stdout, indent=1)
    print()
