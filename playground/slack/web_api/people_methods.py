"""Web API: who is there. Users, user groups, bots, the team, and who the token belongs to."""

from __future__ import annotations

from playground.slack import tidewater
from playground.slack.web_api.call import Call, Method
from playground.slack.workspace import Json, SlackError


def user_json(person: tidewater.SlackUser) -> Json:
    profile = {
        "real_name": person.name,
        "display_name": person.handle,
        "title": person.title,
        "email": person.email,
    }
    if person.bot_id:
        del profile["email"]
    if person.deleted:
        return _gone(person, profile)
    more: Json = {"is_stranger": person.stranger} if person.team_id != tidewater.TEAM_ID else {}
    if person.enterprise_id:
        more["enterprise_user"] = {
            "id": f"W{person.id[1:]}",
            "enterprise_id": person.enterprise_id,
            "teams": [person.team_id],
        }
    return {
        "id": person.id,
        "team_id": person.team_id,
        "name": person.handle,
        "real_name": person.name,
        "deleted": False,
        "tz": person.timezone,
        "profile": profile,
        "is_bot": bool(person.bot_id),
        "is_admin": False,
        "is_restricted": bool(person.guest),
        "is_ultra_restricted": person.guest == "single_channel",
        "is_app_user": False,
        **more,
    }


def _gone(person: tidewater.SlackUser, profile: Json) -> Json:
    """Of a deactivated account Slack tells little more than that it is one."""
    shown = {"id": person.id, "team_id": person.team_id, "name": person.handle, "deleted": True}
    return {**shown, "profile": profile, "is_bot": False, "is_app_user": False}


def auth_test(call: Call) -> Json:
    return {
        "url": f"{call.text('site')}/",
        "team": tidewater.TEAM_NAME,
        "user": "copilot",
        "team_id": tidewater.TEAM_ID,
        "user_id": tidewater.BOT_USER_ID,
        "bot_id": tidewater.BOT_ID,
        "is_enterprise_install": False,
    }


def api_test(call: Call) -> Json:
    if error := call.text("error"):
        raise SlackError(error)
    return {"args": dict(call.arguments)}


def users_info(call: Call) -> Json:
    call.demand("users:read")
    person = call.workspace.people.get(call.need("user"))
    if person is None:
        raise SlackError("user_not_found")
    return {"user": user_json(person)}


def users_list(call: Call) -> Json:
    people, metadata = call.page(list(call.workspace.people.values()), default=200)
    return {"members": [user_json(person) for person in people], "response_metadata": metadata}


def users_by_email(call: Call) -> Json:
    call.demand("users:read.email")
    email = call.need("email").lower()
    for person in call.workspace.people.values():
        if person.email == email and not (person.bot_id or person.deleted):
            return {"user": user_json(person)}
    raise SlackError("users_not_found")


def usergroups_list(call: Call) -> Json:
    groups: list[Json] = []
    for group in call.workspace.groups.values():
        shown: Json = {
            "id": group.id,
            "team_id": tidewater.TEAM_ID,
            "is_usergroup": True,
            "name": group.name,
            "handle": group.handle,
            "user_count": len(group.members),
            "date_delete": 0,
        }
        groups.append(shown | ({"users": [*group.members]} if call.flag("include_users") else {}))
    return {"usergroups": groups}


def usergroup_members(call: Call) -> Json:
    group = call.workspace.groups.get(call.need("usergroup"))
    if group is None:
        raise SlackError("no_such_subteam")
    return {"users": list(group.members)}


def bots_info(call: Call) -> Json:
    call.demand("users:read")
    for person in call.workspace.people.values():
        if person.bot_id and call.text("bot", tidewater.BOT_ID) == person.bot_id:
            app = tidewater.APP_ID if person.id == tidewater.BOT_USER_ID else f"A{person.id[1:]}"
            bot = {"id": person.bot_id, "app_id": app, "user_id": person.id, "name": person.name}
            return {"bot": {**bot, "deleted": False}}
    raise SlackError("bot_not_found")


def team_info(call: Call) -> Json:
    team = {"id": tidewater.TEAM_ID, "name": tidewater.TEAM_NAME, "domain": tidewater.TEAM_DOMAIN}
    return {"team": {**team, "email_domain": "tidewater.example"}}


def files_info(call: Call) -> Json:
    name = call.need("file")
    for channel in call.workspace.channels:
        for message in call.workspace.all(channel):
            for file in message.get("files", []):
                if file.get("id") == name:
                    return {"file": file, "comments": []}
    raise SlackError("file_not_found")


METHODS: dict[str, Method] = {
    "api.test": api_test,
    "auth.test": auth_test,
    "bots.info": bots_info,
    "files.info": files_info,
    "team.info": team_info,
    "usergroups.list": usergroups_list,
    "usergroups.users.list": usergroup_members,
    "users.info": users_info,
    "users.list": users_list,
    "users.lookupByEmail": users_by_email,
}
