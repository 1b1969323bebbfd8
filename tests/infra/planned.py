"""What the JSON of a plan says, by resource, and rules over it, which answer with what breaks them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Plan = Mapping[str, Any]
PUSHED = ("ingest", "reindex")
CALLED = ("query", "manage")
FUNCTIONS = (*PUSHED, *CALLED)
MAINTAIN = "maintain"
EVENTS = {"OBJECT_FINALIZE", "OBJECT_DELETE", "OBJECT_ARCHIVE"}


@dataclass(frozen=True)
class Resource:
    """One planned resource: where it stands, what it is, and its values as far as a plan knows them."""

    address: str
    type: str
    values: Mapping[str, Any]


def resources(plan: Plan, *types: str) -> list[Resource]:
    """Every planned resource of these types; of all, without any."""
    return [found for found in _walk(plan["planned_values"]["root_module"]) if not types or found.type in types]


def _walk(module: Mapping[str, Any]) -> Iterator[Resource]:
    for found in module.get("resources", []):
        if found["mode"] == "managed":
            yield Resource(found["address"], found["type"], found["values"])
    for child in module.get("child_modules", []):
        yield from _walk(child)


def services(plan: Plan) -> dict[str, Resource]:
    """Function -> its Cloud Run service, without the one that only schedules call."""
    found = {service.values["name"].removeprefix("kb-"): service for service in every_service(plan)}
    return {function: service for function, service in found.items() if function != MAINTAIN}


def every_service(plan: Plan) -> list[Resource]:
    return resources(plan, "google_cloud_run_v2_service")


def maintain(plan: Plan) -> Resource:
    """The manage function once more, for schedules alone."""
    return next(service for service in every_service(plan) if service.values["name"] == f"kb-{MAINTAIN}")


def container(service: Resource) -> Mapping[str, Any]:
    return service.values["template"][0]["containers"][0]


def environment(service: Resource) -> dict[str, str | None]:
    """Name -> value; None for a reference to a secret."""
    return {row["name"]: row["value"] for row in container(service)["env"]}


def member(service: Resource) -> str:
    return f"serviceAccount:{service.values['template'][0]['service_account']}"


def grants(plan: Plan) -> list[Resource]:
    """Every role that is given to a member, wherever it stands."""
    return [found for found in resources(plan) if found.type.endswith("_iam_member")]


def notification_problems(plan: Plan) -> list[str]:
    """Every change of the bucket reaches ingest, and what is given up is kept."""
    problems = []
    pushes, keeps = _subscriptions(plan)
    (told,) = resources(plan, "google_storage_notification")
    if set(told.values["event_types"]) != EVENTS:
        problems.append(f"the bucket tells only of {told.values['event_types']}")
    reached = [
        push for push in pushes if told.values["topic"].endswith(f"/topics/{push.values['topic'].split('/')[-1]}")
    ]
    ingest = services(plan)["ingest"].values["name"]
    problems += [] if reached else ["no subscription pushes the bucket's notifications"]
    for push in reached:
        if not push.values["push_config"][0]["push_endpoint"].startswith(f"https://{ingest}-"):
            problems.append(f"{push.address} does not push to ingest")
    for push in pushes:
        dead = push.values["dead_letter_policy"]
        if not dead:
            problems.append(f"{push.address} has no dead letters")
        elif dead[0]["dead_letter_topic"] not in keeps:
            problems.append(f"the dead letters of {push.address} are kept by nobody")
    return problems


def _subscriptions(plan: Plan) -> tuple[list[Resource], set[str]]:
    """Those that push, and the topics of those that only keep."""
    found = resources(plan, "google_pubsub_subscription")
    pushes = [one for one in found if one.values["push_config"]]
    return pushes, {one.values["topic"] for one in found if not one.values["push_config"]}


def push_problems(plan: Plan) -> list[str]:
    """Every push says who it is, and nobody else may call what is pushed to."""
    problems = []
    pushers: dict[str, set[str]] = {}
    for push in _subscriptions(plan)[0]:
        config = push.values["push_config"][0]
        token = config["oidc_token"]
        if not token:
            problems.append(f"{push.address} says not who it is")
            continue
        if not config["push_endpoint"].startswith(token[0]["audience"]):
            problems.append(f"the token of {push.address} is for somebody else")
        function = config["push_endpoint"].removeprefix("https://").split("-")[1]
        pushers.setdefault(function, set()).add(f"serviceAccount:{token[0]['service_account_email']}")
    for function in PUSHED:
        if pushers.get(function, set()) != invokers(plan, function):
            problems.append(f"{function} is called by {invokers(plan, function)}, pushed to by {pushers.get(function)}")
        if services(plan)[function].values["ingress"] != "INGRESS_TRAFFIC_INTERNAL_ONLY":
            problems.append(f"{function} is reached from outside")
    return problems


def invokers(plan: Plan, function: str) -> set[str]:
    name = services(plan)[function].values["name"]
    found = resources(plan, "google_cloud_run_v2_service_iam_member")
    return {one.values["member"] for one in found if one.values["name"] == name}


def public_problems(plan: Plan) -> list[str]:
    """Nothing is open to everybody but a function that checks tokens itself."""
    open_to_all = [
        one for one in grants(plan) if str(one.values.get("member")) in {"allUsers", "allAuthenticatedUsers"}
    ]
    checking = {
        service.values["name"]
        for function, service in services(plan).items()
        if function in CALLED and environment(service).get("KB_AUTH") == "jwt"
    }
    unchecked = [
        service
        for service in every_service(plan)
        if service.values["invoker_iam_disabled"]
        and (
            environment(service).get("KB_AUTH") != "iam" or service.values["ingress"] != "INGRESS_TRAFFIC_INTERNAL_ONLY"
        )
    ]
    return [one.address for one in (*open_to_all, *unchecked) if one.values.get("name") not in checking]


def role_problems(plan: Plan) -> list[str]:
    """A function has its own account; on the whole project only Firestore, and of that one database."""
    problems = []
    accounts = [member(service) for service in services(plan).values()]
    if len(set(accounts)) != len(FUNCTIONS):
        problems.append(f"accounts are shared: {accounts}")
    (database,) = resources(plan, "google_firestore_database")
    for one in resources(plan, "google_project_iam_member"):
        if one.values.get("member") not in accounts:
            continue
        condition = (one.values["condition"] or [{"expression": ""}])[0]["expression"]
        if one.values["role"] != "roles/datastore.user" or f'/databases/{database.values["name"]}"' not in condition:
            problems.append(f"{one.address} is more than the catalog")
    query = member(services(plan)["query"])
    problems += [
        f"query may use objects: {one.address}"
        for one in grants(plan)
        if one.values.get("member") == query and "storage" in f"{one.type} {one.values.get('role')}"
    ]
    return problems


def image_problems(plan: Plan) -> list[str]:
    images = {service.address: container(service)["image"] for service in every_service(plan)}
    return [f"{address}: {image}" for address, image in images.items() if "@sha256:" not in image]


def space_problems(plan: Plan) -> list[str]:
    """Whoever embeds, and whoever asks, means one model and one index."""
    problems = []
    for name in ("KB_EMBEDDING_MODEL", "QDRANT_URL", "KB_BUCKET", "KB_FIRESTORE_DATABASE", "GOOGLE_CLOUD_PROJECT"):
        said = {service.address: environment(service).get(name) for service in every_service(plan)}
        if len(said) != len(FUNCTIONS) + 1 or len(set(said.values())) != 1 or not all(said.values()):
            problems.append(f"{name}: {said}")
    return problems


def secret_problems(plan: Plan, secrets: set[str]) -> list[str]:
    """A secret setting is a reference, and no version carries a value."""
    problems = [
        f"{service.address} holds {name}"
        for service in every_service(plan)
        for name, value in environment(service).items()
        if name in secrets and value
    ]
    problems += [
        f"{version.address} carries its value"
        for version in resources(plan, "google_secret_manager_secret_version")
        if version.values.get("secret_data") or version.values.get("secret_data_wo")
    ]
    return problems


def time_problems(plan: Plan) -> list[str]:
    """A slice ends before its request is given up, and that before the message comes again."""
    problems = []
    deadlines = {
        push.values["push_config"][0]["push_endpoint"].split("-")[1]: push.values["ack_deadline_seconds"]
        for push in _subscriptions(plan)[0]
    }
    for function in PUSHED:
        service = services(plan)[function]
        slice_ = float(environment(service)["KB_SLICE_SECONDS"] or "nan")
        timeout = float(service.values["template"][0]["timeout"].removesuffix("s"))
        if not slice_ < timeout < deadlines[function]:
            problems.append(f"{function}: {slice_} < {timeout} < {deadlines[function]} does not hold")
    return problems
