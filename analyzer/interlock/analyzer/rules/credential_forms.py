"""What a credential looks like: published token forms, and texts of high entropy.

Only texts are judged here; which texts of a workflow are looked at, and what is said of them, is
the part of ``credentials``.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections import Counter
from functools import lru_cache
from math import log2

import msgspec

MIN_LENGTH = 20
MIN_BITS = 3.5
_SHORTEST = 12


class Form(msgspec.Struct, frozen=True):
    """One published form: what it is, and its pattern without the borders."""

    title: str
    pattern: str


# The forms are those that the services publish, or that their own secret scanning documents.
_FORMS = (
    Form("GitHub token", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    Form("GitHub fine-grained token", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    Form("GitLab token", r"gl(?:pat|dt|rt|ptt|cbt|ft|soat|imt|agent|oas)-[A-Za-z0-9_-]{20,}"),
    Form("GitLab runner token", r"GR1348941[A-Za-z0-9_-]{20}"),
    Form("Bitbucket app password", r"ATBB[A-Za-z0-9]{32}"),
    Form("Atlassian API token", r"ATATT3[A-Za-z0-9_=-]{150,}"),
    Form("AWS access key id", r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}"),
    Form("Alibaba access key id", r"LTAI[A-Za-z0-9]{20}"),
    Form("Google API key", r"AIza[A-Za-z0-9_-]{35}"),
    Form("Google OAuth client secret", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    Form("Google access token", r"ya29\.[A-Za-z0-9_-]{30,}"),
    Form("Azure storage key", r"AccountKey=[A-Za-z0-9+/]{86}=="),
    Form("DigitalOcean token", r"do[opr]_v1_[a-f0-9]{64}"),
    Form("Databricks token", r"dapi[a-f0-9]{32}(?:-\d)?"),
    Form("Slack token", r"xox[abeoprs]-(?:\d-)?[A-Za-z0-9]{8,}(?:-[A-Za-z0-9]+)*|xox[abeoprs]-[A-Za-z0-9-]{20,}"),
    Form("Slack app token", r"xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{32,}"),
    Form(
        "Slack webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9]+/[A-Za-z0-9]+/[A-Za-z0-9/]{20,}",
    ),
    Form("Discord webhook", r"discord(?:app)?\.com/api/webhooks/\d{17,20}/[A-Za-z0-9_-]{60,}"),
    Form("Telegram bot token", r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    Form("Stripe key", r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,247}"),
    Form("Stripe webhook secret", r"whsec_[A-Za-z0-9+/=]{32,}"),
    Form("Square token", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43}"),
    Form("Shopify token", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    Form("SendGrid key", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    Form("Mailgun key", r"key-[a-f0-9]{32}"),
    Form("Mailchimp key", r"[a-f0-9]{32}-us\d{1,2}"),
    Form("Brevo key", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    Form("Twilio key", r"SK[a-f0-9]{32}"),
    Form("npm token", r"npm_[A-Za-z0-9]{36}"),
    Form("PyPI token", r"pypi-Ag[A-Za-z0-9_-]{50,}"),
    Form("RubyGems key", r"rubygems_[a-f0-9]{48}"),
    Form("Docker access token", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,32}"),
    Form("Anthropic key", r"sk-ant-[A-Za-z0-9_-]{32,}"),
    Form("OpenAI key", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{32,}|sk-[A-Za-z0-9]{48}"),
    Form("OpenRouter key", r"sk-or-v1-[a-f0-9]{64}"),
    Form("Hugging Face token", r"(?:hf|api_org)_[A-Za-z0-9]{34}"),
    Form("Groq key", r"gsk_[A-Za-z0-9]{52}"),
    Form("xAI key", r"xai-[A-Za-z0-9]{80}"),
    Form("Perplexity key", r"pplx-[A-Za-z0-9]{48}"),
    Form("Replicate token", r"r8_[A-Za-z0-9]{37}"),
    Form("Vault token", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    Form("Terraform token", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    Form("Pulumi token", r"pul-[a-f0-9]{40}"),
    Form("Doppler token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    Form("Grafana token", r"glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,3}"),
    Form("New Relic key", r"NRAK-[A-Z0-9]{27}"),
    Form("Sentry token", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    Form("Linear key", r"lin_(?:api|oauth)_[A-Za-z0-9]{40}"),
    Form("Notion token", r"ntn_[0-9]{11}[A-Za-z0-9]{32,35}|secret_[A-Za-z0-9]{43}"),
    Form("Airtable token", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    Form("Figma token", r"figd_[A-Za-z0-9_-]{40,}"),
    Form("Postman key", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    Form("Supabase token", r"sbp_[a-f0-9]{40}"),
    Form("PlanetScale token", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,64}"),
    Form("Netlify token", r"nf[pcou]_[A-Za-z0-9]{36}"),
    Form("age secret key", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    Form("1Password service token", r"ops_eyJ[A-Za-z0-9+/]{200,}={0,3}"),
    Form("JSON web token", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}"),
)

# Every published form has a run of such characters with a capital or a digit in it; most texts of a
# workflow have none, so that the pattern of all forms, which takes long to compile, is seldom needed.
_RUN = re.compile(r"(?=[a-z_\-+/]*[A-Z0-9])[A-Za-z0-9_\-+/]{16,}", re.ASCII)
_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_USER_INFO = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^\s/?#:@]*):([^\s/?#@]+)@[^\s/?#@]")
_BASIC = re.compile(r"\bbasic\s+([A-Za-z0-9+/]{6,}={0,2})(?![A-Za-z0-9+/=])", re.IGNORECASE)
_SCHEME = re.compile(r"(?:bearer|basic|token|apikey|api-key|key|bot|splunk|genie-?key)\s+", re.IGNORECASE)

_PLACEHOLDER = re.compile(
    r"example|placeholder|change[-_ ]?(?:me|it)|your[-_]|[-_]here\b|replace[-_ ]?(?:me|this|with)|insert[-_ ]"
    r"|dummy|redacted|fake[-_]|todo|xxxx|\*\*\*|\.\.\.|…|<[^>]*>|\$\{|\$\(|%\(|\[\[",
    re.IGNORECASE,
)
_FILLER = re.compile(r"example|xxxx|0{12}|(.)\1{7}", re.IGNORECASE)
_POOR_PASSWORDS = frozenset(
    [
        "pass",
        "password",
        "passwd",
        "pwd",
        "secret",
        "token",
        "changeme",
        "user",
        "username",
        "root",
        "test",
        "example",
        "foo",
        "bar",
        "xxx",
    ]
)


@lru_cache(1)
def _known() -> re.Pattern[str]:
    forms = "|".join(f"({form.pattern})" for form in _FORMS)
    return re.compile(rf"(?<![A-Za-z0-9_])(?:{forms})(?![A-Za-z0-9_])", re.ASCII)


def known_form(text: str) -> str | None:
    """What a credential that stands in the text is called; None where none of the forms does."""
    if len(text) < 8:
        return None
    if "://" in text and "@" in text and (found := _USER_INFO.search(text)) and _is_password(found[2]):
        return "password in an address"
    if "-----BEGIN" in text and _PRIVATE_KEY.search(text):
        return "private key"
    if "asic " in text.lower() and (found := _BASIC.search(text)) and _is_basic(found[1]):
        return "user name and password"
    if _RUN.search(text) is None:
        return None
    for found in _known().finditer(text):
        if not _FILLER.search(found[0]) and len(set(found[0])) > 8:
            return _FORMS[(found.lastindex or 1) - 1].title
    return None


def _is_password(word: str) -> bool:
    return word.lower() not in _POOR_PASSWORDS and not _PLACEHOLDER.search(word) and len(set(word)) > 1


def _is_basic(code: str) -> bool:
    """Whether it is the code of ``user:password``."""
    try:
        plain = b64decode(code + "=" * (-len(code) % 4), validate=True).decode("utf-8")
    except (Error, UnicodeDecodeError):
        return False
    user, _, password = plain.partition(":")
    return bool(user and password) and plain.isprintable() and _is_password(password)


# -- entropy ---------------------------------------------------------------------------------------------

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NAMES = frozenset(
    [
        "token",
        "tokens",
        "secret",
        "secrets",
        "password",
        "passwords",
        "passwd",
        "pass",
        "pwd",
        "passphrase",
        "passcode",
        "credential",
        "credentials",
        "bearer",
        "authorization",
        "auth",
        "apikey",
        "apikeys",
        "authtoken",
        "accesstoken",
        "refreshtoken",
        "accesskey",
        "privatekey",
        "secretkey",
        "clientsecret",
        "jwt",
        "pat",
    ]
)
_KEYS = frozenset(
    [
        "api",
        "access",
        "private",
        "secret",
        "auth",
        "account",
        "encryption",
        "signing",
        "master",
        "service",
        "shared",
        "subscription",
        "session",
        "hmac",
        "ssh",
        "deploy",
        "storage",
        "webhook",
        "app",
        "application",
        "license",
        "integration",
    ]
)
_HARMLESS = frozenset(["page", "continuation", "cursor", "next", "sync", "csrf", "xsrf", "max", "min"])


@lru_cache(4096)
def credential_field(name: str) -> bool:
    """Whether a field is called like one that holds a credential: ``api_key``, ``X-Auth-Token``."""
    words: list[str] = [word.lower() for word in _WORDS.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    if not words:
        return False
    if any(word in _HARMLESS for word in words[:-1]):
        return False
    last = words[-1]
    if last in _NAMES:
        return True
    if last in ("key", "keys") and len(words) > 1 and words[-2] in _KEYS:
        return True
    endings = ("password", "passwd", "apikey", "secretkey", "accesskey", "authtoken", "clientsecret")
    return last.endswith(endings)


def bits(text: str) -> float:
    """The Shannon entropy of a text in bits for each character."""
    size = len(text)
    return -sum(count / size * log2(count / size) for count in Counter(text).values()) if size else 0.0


_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z_-]*(?:\.[A-Za-z_$][A-Za-z_-]*)+\Z")
_ENVIRONMENT = re.compile(r"[A-Z]+(?:_[A-Z]+)+\Z")
_COMPOUND = re.compile(r"[a-z]+(?:[-_][a-z]+){2,}\Z")
_PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.@ -]+(?:[/\\][\w.@ -]+)+/?\Z")
_REFERENCE = re.compile(r"(?:arn|urn|vault|env|file|secret|secrets|ssm|op|projects|keyvault)[:/]", re.IGNORECASE)


def high_entropy(text: str, field: str) -> bool:
    """Whether the value of a field called like a credential is one by its entropy (section 11).

    What only names a credential, or is no single word at all, is none: paths, addresses,
    variables, references to a store of secrets, sentences, placeholders.
    """
    whole = text.strip()
    found = _SCHEME.match(whole)
    word = whole[found.end() :].strip() if found else whole
    if len(word) < MIN_LENGTH:
        # The word after "Bearer" may be short where it is clearly no word of a language.
        if len(word) < _SHORTEST or not any(c.isdigit() for c in word) or not any(c.isalpha() for c in word):
            return False
        if len(whole) < MIN_LENGTH or bits(whole) < MIN_BITS:
            return False
    elif bits(word) < MIN_BITS:
        return False
    if any(letter.isspace() for letter in word) or "://" in word or _PLACEHOLDER.search(word):
        return False
    if _REFERENCE.match(word) or _IDENTIFIER.match(word) or _ENVIRONMENT.match(word) or _is_path(word):
        return False
    return not (_COMPOUND.match(word) and "pass" not in field.lower())


def _is_path(word: str) -> bool:
    return _PATH.match(word) is not None and any(len(part) <= 12 for part in re.split(r"[/\\.]", word) if part)
