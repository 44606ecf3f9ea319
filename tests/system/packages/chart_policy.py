# SPDX-License-Identifier: Apache-2.0
"""Who reaches which port, as the chart's NetworkPolicies say."""


def selects(selector, labels):
    """Does a label selector mean these labels? Only the forms that the chart uses are known."""
    if set(selector) - {"matchLabels"}:
        raise ValueError("a selector with %s" % sorted(selector))
    return selector.get("matchLabels", {}).items() <= labels.items()


def is_peer(peer, home, source):
    """@source: (namespace, labels of the namespace, labels of the pod)."""
    if set(peer) - {"podSelector", "namespaceSelector"}:
        raise ValueError("a peer with %s" % sorted(peer))
    namespace, of_namespace, labels = source
    if "namespaceSelector" in peer:
        there = selects(peer["namespaceSelector"], of_namespace)
    else:
        there = namespace == home
    return there and selects(peer.get("podSelector", {}), labels)


def reaches(docs, source, pod, port):
    """Does a pod @source reach that port of @pod? @port: one of its container's "ports"."""
    home, labels = pod
    rules, isolated = [], False
    for doc in docs:
        if doc["kind"] != "NetworkPolicy" or doc["metadata"]["namespace"] != home:
            continue
        spec = doc["spec"]
        if selects(spec["podSelector"], labels) and "Ingress" in spec["policyTypes"]:
            isolated = True
            rules += spec.get("ingress", [])
    return not isolated or any(
        ("ports" not in rule or any(p["port"] in (port["name"], port["containerPort"])
                                    for p in rule["ports"])) and
        (not rule.get("from") or any(is_peer(peer, home, source) for peer in rule["from"]))
        for rule in rules)
