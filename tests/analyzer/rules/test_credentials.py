"""Credentials in the text (IL504; in keys IL501 to IL503): what is one, and what only resembles one.

The tokens are put together from halves, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import random
import string

import pytest
from found import codes, diagnostics

from interlock.analyzer.rules.credential_forms import bits, credential_field, high_entropy, known_form

_CHANCE = random.Random(20240229)
_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


def chars(count: int, alphabet: str = _ALNUM) -> str:
    return "".join(_CHANCE.choice(alphabet) for _ in range(count))


TOKENS = {
    "GitHub token": "gh" + "p_" + chars(36),
    "GitHub app token": "gh" + "s_" + chars(36),
    "GitHub fine-grained token": "github_" + "pat_" + chars(22) + "_" + chars(59),
    "GitLab token": "gl" + "pat-" + chars(20),
    "AWS access key id": "AK" + "IA" + chars(16, string.ascii_uppercase + "234567"),
    "AWS session key id": "AS" + "IA" + chars(16, string.ascii_uppercase + "234567"),
    "Slack token": "xo" + "xb-" + chars(12, string.digits) + "-" + chars(12, string.digits) + "-" + chars(24),
    "Slack webhook": "https://hooks." + "slack.com/services/T" + chars(8) + "/B" + chars(10) + "/" + chars(24),
    "Stripe key": "sk_" + "live_" + chars(24),
    "Stripe restricted key": "rk_" + "live_" + chars(99),
    "Google API key": "AI" + "za" + chars(35),
    "npm token": "np" + "m_" + chars(36),
    "PyPI token": "py" + "pi-AgEIcHlwaS5vcmc" + chars(70),
    "SendGrid key": "SG" + "." + chars(22) + "." + chars(43),
    "Twilio key": "SK" + chars(32, _HEX),
    "OpenAI key": "sk-" + "proj-" + chars(48),
    "OpenAI legacy key": "sk-" + chars(20) + "T3Blbk" + "FJ" + chars(20),
    "Anthropic key": "sk-" + "ant-api03-" + chars(93) + "AA",
    "DigitalOcean token": "do" + "p_v1_" + chars(64, _HEX),
    "Hugging Face token": "h" + "f_" + chars(34, string.ascii_letters),
    "Telegram bot token": chars(9, "123456789") + ":A" + "A" + chars(33),
    "JSON web token": "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0." + chars(43),
    "Azure storage key": "DefaultEndpointsProtocol=https;Account" + "Key=" + chars(86) + "==",
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA " + "PRIVATE KEY-----",
    "openssh key": "-----BEGIN OPENSSH " + "PRIVATE KEY-----",
    "database address": "postgres" + "://svc:" + chars(12) + "@db.internal:5432/orders",
    "basic authorization": "Basic " + "YWRtaW46czNjcjN0LXAwcmQ=",
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_published_forms_are_credentials_anywhere(token: str) -> None:
    assert known_form(token) is not None
    assert known_form(f"use {token}, please") is not None


def test_a_form_is_not_part_of_a_longer_word() -> None:
    for name in ("GitHub token", "AWS access key id", "npm token", "Twilio key"):
        assert known_form("x" + TOKENS[name]) is None


BENIGN = """
AKIAIOSFODNN7EXAMPLE
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
xoxb-your-token-here
sk_test
postgres://user:password@localhost:5432/app
postgres://localhost:5432/app
mysql://reader@db.internal/orders
https://user@example.com/path
https://a.example/path?email=me@b.example:8080
mailto:someone@example.org
redis://:@localhost:6379/0
https://api.example.com/v1/items/0123456789abcdef0123456789abcdef
https://hooks.slack.com/
git@github.com:acme/site.git
s3://bucket-name/prefix/2024-01-01/part-00000-of-00010.parquet
/usr/local/share/ca-certificates/internal-root.crt
C:\\Program Files\\Acme\\bin\\run.exe
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
da39a3ee5e6b4b0d3255bfef95601890afd80709
d41d8cd98f00b204e9800998ecf8427e
123e4567-e89b-12d3-a456-426614174000
urn:uuid:123e4567-e89b-12d3-a456-426614174000
arn:aws:iam::123456789012:role/deployment-pipeline
projects/acme-prod/secrets/stripe/versions/latest
registry.example.com/team/image@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
acme.platform.billing.invoice.created.v2
com.example.android.application.MainActivity
brief.research.publish-and-notify
skip-this-step-when-the-branch-is-not-main
task_force_assignment_is_not_a_key
risk-assessment-of-the-quarterly-report-2024
sk-learn pipelines are trained nightly
pk_anything_goes_here_as_this_is_no_form
keyboard-interactive
Bearer
Basic training for new employees
basic authentication
The quick brown fox jumps over the lazy dog, twice a day.
Please rotate the API token before the end of the quarter.
application/vnd.github.v3+json; charset=utf-8
Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)
multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW
2024-02-29T23:59:59.999999999Z
1.2.840.113549.1.1.11
SELECT id, name FROM customers WHERE created_at > now() - interval '1 day'
data:image/png;base64,iVBORw0KGgo=
PT1H30M
en-US,en;q=0.9,de;q=0.8
0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq
4111 1111 1111 1111
+49 30 901820
order-2024-000000123456
INV-0000000000000000001
{"type": "service_account"}
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGKOC0mVYVYzq5oLw8zR1J5a0H6xgJY8l3zIzqTq7dXW
aGVsbG8gd29ybGQsIHRoaXMgaXMgYSBsb25nIGdyZWV0aW5n
eyJub3QiOiJhIHRva2VuIn0=
npm_config_registry_and_other_settings
hf_transfer
SG.too.short
AIzaShort
Skeleton
""".strip().split("\n")


@pytest.mark.parametrize("text", BENIGN)
def test_what_only_resembles_a_form(text: str) -> None:
    assert known_form(text) is None


FIELDS = (
    "token password passwd secret api_key apiKey apikey X-Api-Key Authorization authorization access_token accessToken "
    "client_secret clientSecret private_key db_password DB_PASSWORD auth auth_token credentials bearer secret_key "
    "signing_key passphrase token2 githubToken refresh-token"
)
OTHER_FIELDS = (
    "name url token_url tokenUrl token_type secret_name password_hint max_tokens next_page_token author key keys "
    "primary_key idempotency_key cache_key sort_key path message authorized monkey turkey description key_id digest"
)


@pytest.mark.parametrize("name", FIELDS.split())
def test_fields_called_like_credentials(name: str) -> None:
    assert credential_field(name)


@pytest.mark.parametrize("name", OTHER_FIELDS.split())
def test_fields_that_are_not(name: str) -> None:
    assert not credential_field(name)


@pytest.mark.parametrize(
    "text",
    [
        "abcdefghijklmnopqrst",
        "Tr0ub4dor&3-horse-staple",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "Bearer q8Zt0vKx3PfW7yLmN2sR",
        "token q8Zt0vKx3PfW7yLmN2sR",
        "Bearer q8Zt0vKx3PfW7yL",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzKEYzzkey",
        "a9f3-Kd82_lq.Zx71+Pw05==",
        "123e4567-e89b-12d3-a456-426614174000",
    ],
)
def test_high_entropy(text: str) -> None:
    assert high_entropy(text, "token")


def test_a_sentence_of_words_is_a_passphrase_only_where_one_belongs() -> None:
    words = "velvet-horse-battery-kumquat-staple"
    assert bits(words) > 3.5
    assert high_entropy(words, "password")
    assert not high_entropy(words, "secret")


def test_the_borders_of_high_entropy() -> None:
    assert bits("ab") == 1.0
    assert not high_entropy("abcdefghijklmnopqrs", "token"), "19 characters"
    assert high_entropy("abcdefghijklmnopqrst", "token"), "20 characters"
    twelve = "abcdefghijkl"
    assert bits(twelve * 2) > 3.5
    assert high_entropy(twelve * 2, "token")
    eleven = "abcdefghijk"
    assert bits(eleven * 2) < 3.5
    assert not high_entropy(eleven * 2, "token")


NAMES_OF_SECRETS = """
https://vault.example.com/v1/secret/data/billing
/run/secrets/database_password
./certs/private/server.key.pem
~/.ssh/id_ed25519_deployment
acme.billing.stripe.secret
STRIPE_LIVE_SECRET_KEY_NAME
${STRIPE_LIVE_SECRET_KEY}
<paste-your-token-here-please>
your-api-key-goes-right-here
changeme-before-production-1
xxxxxxxxxxxxxxxxxxxxxxxxxxxx
example-token-0123456789abc
the token from the vault
Bearer short-lived-token
Bearer q8Zt0
arn:aws:secretsmanager:eu-west-1:123456789012:secret:billing-Ab3dEf
vault:secret/data/billing#token
projects/acme/secrets/stripe/versions/3
aaaaaaaaaaaaaaaaaaaaaaaaaaaa
REDACTED-0123456789-abcdefgh
client_credentials
""".strip().split("\n")


@pytest.mark.parametrize("text", NAMES_OF_SECRETS)
def test_what_only_names_or_stands_for_a_credential(text: str) -> None:
    assert not high_entropy(text, "token")


# -- in a workflow --------------------------------------------------------------------------------------

TOKEN = TOKENS["GitHub token"]
RANDOM = "q8Zt0vKx3PfW7yLmN2sR"


def test_everywhere_in_a_workflow() -> None:
    text = f"""\
        workflow: w
        description: "ask for {TOKEN}"
        inputs:
          user: string
          token: {{type: string, default: "{RANDOM}"}}
          mode: {{type: string, default: plain, enum: [plain, "{TOKEN}"]}}
        concurrency: {{limit: 1, on_busy: supersede, supersession_key: "{TOKEN}"}}
        idempotency_key: "{{inputs.user}}:{TOKEN}"
        budget: {{max_transitions: 99}}
        steps:
          - id: a
            block: http
            params:
              url: "https://a.example/{{inputs.user}}?key={TOKEN}"
              headers:
                Authorization: "Bearer {RANDOM}"
                X-Request-Id: "{RANDOM}"
              json: "{{ {{'client_secret': '{RANDOM}', 'name': '{RANDOM}'}} }}"
            compensate: {{block: http, params: {{url: "https://a.example", headers: {{X-Api-Key: "{RANDOM}"}}}}}}
          - id: b
            concurrency: {{resource: "{TOKEN}", lifetime: run, on_busy: fail}}
          - id: c
            wait_for_signal: {{name: go, result_key: g, match: {{token: "{RANDOM}"}}}}
          - id: d
            for_each: {{items: [1, "{TOKEN}"], steps: [{{id: x, block: log, params: {{message: "{{item}} {{g}}"}}}}]}}
          - id: e
            when: "{{inputs.mode == '{TOKEN}'}}"
            block: set
            params:
              auth: {{value: "{RANDOM}", kind: bearer}}
        outputs: {{password: "{RANDOM}"}}
        on_cancel:
          - {{id: x, block: http, params: {{url: "https://a.example", body: "{TOKEN}"}}}}
        """
    found = [one for one in codes(text) if one[1] in ("IL501", "IL502", "IL503", "IL504")]
    lines = dict(enumerate(text.split("\n"), 1))
    assert [(line, code) for line, code in found if code != "IL504"] == [(7, "IL502"), (8, "IL503"), (21, "IL501")]
    expected = [2, 5, 6, 14, 16, 18, 19, 23, 25, 27, 30, 31, 33]
    assert [line for line, code in found if code == "IL504"] == expected, lines


def test_the_message_does_not_repeat_the_credential() -> None:
    text = f"workflow: w\nsteps: [{{id: a, block: log, params: {{message: '{TOKEN}'}}}}]"
    (found,) = [one for one in diagnostics(text) if one.code == "IL504"]
    assert TOKEN not in found.message + (found.hint or "")
    assert "GitHub token" in found.message


def test_a_text_is_told_once() -> None:
    text = (
        "workflow: w\nsteps:\n- id: a\n  block: set\n  params: &p {token: '" + TOKEN + " " + TOKEN + "'}\n"
        "- {id: b, block: set, params: *p}\n"
    )
    assert codes(text) == [(5, "IL504")]


def test_templates_hold_no_credential() -> None:
    text = """\
        workflow: w
        inputs: {user: string}
        secrets: [KEY]
        steps:
          - id: a
            block: http
            params:
              url: "https://{inputs.user}:{secrets.KEY}@a.example"
              headers: {Authorization: "Bearer {secrets.KEY}", X-Token: "{inputs.user}-{inputs.user}-{inputs.user}"}
        """
    assert codes(text) == []
