"""Secrets are found and replaced; similar text stays."""

import html
import json
import re
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import quoteattr

import markupsafe
import pytest
from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import (
    Redactor,
    shown,
)
from ansible_collections.scalebench.core.plugins.module_utils.evidence.secret_forms import (
    RULES,
    is_secret_name,
    patterns,
)
from cpu_time import least_seconds
from hypothesis import given
from hypothesis import strategies as st

# Made up here; put together so that no scanner takes this file for one that holds secrets.
KEY = "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nQUJD\n-----END OPENSSH "
KEY += "PRIVATE KEY-----"
SECRETS = {
    "AWS access key": "AKIA" + "ABCDEFGHIJKLMNOP",
    "GitHub token": "ghp_" + "a1B2" * 9,
    "GitLab token": "glpat-" + "a1B2" * 5,
    "Hugging Face token": "hf_" + "aBcD" * 9,
    "NGC key": "nvapi-" + "aB-_" * 16,
    "Stripe key": "sk_live_" + "a1B2" * 6,
    "Google key": "AIza" + "aB-_4" * 7,
    "PyPI token": "pypi-" + "aB-_" * 12,
    "npm token": "npm_" + "aB12" * 9,
    "Databricks token": "dapi" + "0123abcd" * 4,
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmVk",
    "ssh key": "AAAAC3NzaC1lZDI1NTE5" + "AAAAI" * 8,
}


def clean(text, **environment):
    """Return the text without its secrets, and the findings."""
    redactor = Redactor(patterns({name: value.encode() for name, value in environment.items()}))
    cleaned = b"".join(redactor.redact([text.encode()])).decode()
    return cleaned, redactor.findings


@pytest.mark.parametrize(("kind", "secret"), SECRETS.items())
def test_tokens_of_known_forms_are_replaced(kind, secret):
    before = "ssh-ed25519 " if kind == "ssh key" else "login with "
    text = f"iteration 1\n{before}{secret} at once\n"
    cleaned, findings = clean(text)
    assert cleaned == f"iteration 1\n{before}[redacted: {kind}] at once\n"
    assert findings == {kind: (2, 1)}


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("export WANDB_API_KEY=0123abcd", "0123abcd"),
        ('{"env": {"DB_PASSWORD": "two words", "A": 1}}', "two words"),
        (r'{"text": "{\"A_TOKEN\": \"zzz\"}"}', "zzz"),
        ("environ({'MY_SECRET': 'x,y'})", "x,y"),
        ("PASSWORD = hunter2", "hunter2"),
        ("[1,0]<stdout>:AWS_SECRET_ACCESS_KEY: ab/cd", "ab/cd"),
        ("Authorization: Bearer abc.def", "abc.def"),
        ("https://user:pa55@host/path", "pa55"),
    ],
)
def test_values_are_replaced_and_their_names_stay(text, secret):
    cleaned, findings = clean(text)
    (kind,) = findings
    assert cleaned == text.replace(secret, f"[redacted: {kind}]")


@pytest.mark.parametrize(
    "text",
    [
        "TOKENIZERS_PARALLELISM=false tokens/s: 1234",
        "NCCL_IB_PKEY=0x7fff KEYRING=1",
        "SSH_KEY_FILE=/root/.ssh/id_ed25519",
        "A_TOKEN= B=1, B_TOKEN='' C_TOKEN=$HF_TOKEN D_TOKEN=*** 'E_TOKEN': null",
        "http://node1:29500/a@b and git@example.org:x/y",
        "forward_pass=12.5ms, backward_pass: 123.456 two-pass = 7654321 images/s pwd=/home/user",
        "forward_pass: 1.2e-3 fwd_pass: -1.23456 first_pass = compiling post_grad_pass: Batch",
        "--two-pass enabled --pass 2 PWD=work/build pwd=build/x <input_token>word</input_token>",
        "usage: login <password> <name> passwords: 3",
        "PASS: 12 of 12 OLDPWD=/root PWD=/home/user N_PASSES=12345678 password: **",
        "Authorization: required, \x1b[31mred\x1b[0m Grüße",
        "half_precision hf_short sha256:e3b0c44298fc1c149afbf4c8996fb924",
        "max_tokens=128 num_tokens: 4096 tokens/s 1234.5 token=5 eos_token='' pad_token=[PAD]",
        "--max-tokens 5 --token-file /x/y --password-file=/z secret_name: demo key_id=abcdefgh",
        "AssertionError: token: embedding_size mismatch; wrong token: unexpected",
        "train --token-batch-size 256",
        "KeyError: 'epoch' ssh://git@example.org/x password: null use_auth_token=True",
        "iteration 3 epoch 0 loss 6.970000 throughput 24.13 images/s",
        "GPU identified by 'NVIDIA A100-SXM4' and identified by \"GPU-a1b2c3\"",
        "['CLS_TOKEN', 'sep_token'] ['API_KEY', 'batch_size'] lacks ['HF_TOKEN', 'please set it']",
        "setenv HF_TOKEN failed; ENV HF_TOKEN is not set; ENV TF_TOKEN_LIMIT 512",
        "redis-cli info | grep -a used; redis-cli ping; cp -a src dst; ipmitool status -Path /x",
        "configure set key_size 2048 configure set core.keyring x",
        "['docker', 'login', '-u', 'me'] ['curl', '-o', 'x', 'y'] ['wandb', 'login', '--relogin']",
        "the user has no password 'yet' set; git config set user.name x; name: LR, value: 0.1",
        'Please use "wandb login", "vault login" or others; vault login, then',
        "mariadb server log: process '-pid' '3' apt-get install mariadb-client && cp -pr a b",
        "ok: mariadb-common installed; tar -pxf file; name: TOKEN, value: 32000",
        "config set ssh-key-path /root/x config set api_key_name foo config set monkey banana",
        '<input name="password" value="Enter password"> name: CACHE_KEY, value: 4096',
        "sk-bratislava-dc1-gpu-node01 joined",
        "<property name=\"batch\" value=\"128\"/> ['mysql', '--port', '3306']",
    ],
)
def test_other_text_stays(text):
    assert clean(text) == (text, {})


# Forms in which secrets stand in configuration files, commands and messages. <S> is the secret.
FORMS = """
aws_secret_access_key = <S>
aws_session_token=<S>
api_key=<S>
apikey: <S>
{"password": "<S>"}
{"apiKey":"<S>", "a": 1}
{'client_secret': '<S>'}
accessToken: <S>
db.password=<S>
wandb.login(api_key='<S>')
mysql_password: "<S>"
passphrase: <S>
AccountName=x;AccountKey=<S>;EndpointSuffix=y
program --password <S> --batch 4
program --api-key=<S>
program --hf-token "<S>"
git clone https://<S>@example.org/x.git
https://user:<S>@example.org/x
https://x.blob.example.org/data?sp=r&sig=<S>&x=1
https://s3.example.org/x?X-Amz-Signature=<S>
authorization: bearer <S>
curl -H "Authorization: token <S>"
X-Api-Key: <S>
Set-Cookie: session=<S>
curl -u admin:<S> https://example.org
sshpass -p <S> ssh node1
docker login -u me -p <S> registry
{"auths": {"r": {"auth": "<S>"}}}
machine example.org login me password <S>
SLACK=xoxb-<S>
key sk-proj-<S>
HF_TOKEN=<S>
HF_TOKEN=$<S>
DB_PASS=<S>
MYSQL_PWD=<S>
PASSWORD=*<S>*1
Authorization: ApiKey <S>
Authorization: Own <S>
key glsa_a1<S>
key dckr_pat_<S>
https://user:p/<S>@example.org/
environ({b'HF_TOKEN': b'<S>'})
password="hunt\\"er<S>"
password: 'it''s <S>'
PASSWORD=a&b;c!<S>
db_passwd=p@ssword{x}<S>
os.environ["HF_TOKEN"] = "<S>"
HF_TOKEN: str = "<S>"
PASSWORD+=<S>
password => <S>
["train.py", "--token", "<S>"]
{"name": "DB_PASSWORD", "value": "<S>"}
https://hooks.slack.com/services/T0000/B0000/<S>
https://discord.com/api/webhooks/123456789/<S>
your key hvs.<S>
your key SG.<S>.<S>
your key glrt-<S>
your key ya29.<S>
your key r8_<S>a1b2c3d4e5f6g
node1 ansible_become_pass=<S> ansible_port=22
node1 ansible_become_pass=/<S> ansible_port=22
db_pass=12345678<S>
bind_pw='.<S>'
LDAP-PW: <S>
UID=sa;PWD=<S>;
program --db-pass 1<S>
ansible_ssh_pass: <S>
SSHPASS=<S>
db_pass=<S>
Server=x;Uid=sa;Pwd=<S>;
bindpw=<S>
program --pass <S> --batch 4
openssl rsa -passin pass:<S>
<password><S></password>
{"Name": "HF_TOKEN", "Value": "<S>"}
{"value": "<S>", "name": "HF_TOKEN"}
('HF_TOKEN', '<S>')
setenv HF_TOKEN <S>
setenv HF_TOKEN "<S>"
ENV HF_TOKEN <S>
ENV\tHF_TOKEN\t'<S>'
aws configure set aws_secret_access_key "<S>"
aws configure set aws_secret_access_key <S>
CREATE USER a IDENTIFIED BY '<S>'
ipmitool -I lanplus -H bmc1 -U root -P <S> power status
redis-cli -h cache -a <S> ping
ldapsearch -x -D cn=admin -w <S> -b dc=x
SLURM_JWT=<S>
FOO_CREDS=<S>
DBPASS=<S>
hmac_key=<S>
REDISCLI_AUTH=<S>
mount -t cifs -o user=u,pass=<S> //a/b /c
unzip -P <S> a.zip
wandb login <S>
vault login <S>
Command '['sshpass', '-p', '<S>', 'ssh', 'node2']' returned non-zero exit status 5.
["curl", "-u", "bob:<S>", "https://example.org"]
['mysql', '-p<S>', 'db']
mariadb -p<S> db
['docker', 'login', '-p', '<S>', 'registry']
['ipmitool', '-H', 'bmc1', '-P', '<S>', 'power', 'status']
['wandb', 'login', '<S>']
skopeo copy --dest-creds me:<S> docker://a docker://b
CREATE USER a WITH PASSWORD '<S>'
ALTER ROLE a PASSWORD '<S>'
<property name="db.password" value="<S>"/>
ngc config set apikey <S>
{name: DB_PASSWORD, value: <S>}
curl -u me:hun,<S> https://example.org
mysql -u root -ppa,<S> db
sshpass -p pa,<S> ssh node1
curl -u "last,first:<S>" https://example.org
curl -sSu me:<S> https://example.org
curl --proxy-user me:<S> https://example.org
docker --config /x login -p <S>
ALTER USER me PASSWORD "<S>"
redis-cli config set requirepass <S>
"""
VALUE = "Zq3" + "x9Kw7Lm2Pv5Rt8Yb1"


@pytest.mark.parametrize("secret", ["12345678", "abcde", "7secret", "/Zq8xyz"])
def test_a_password_by_name_may_be_short_or_a_number_or_look_like_a_path(secret):
    for form in ("db_pass={}", "ansible_ssh_pass: '{}'", "--db-pass {}", 'bind_pw="{}" x'):
        assert secret not in shown(form.format(secret))


@pytest.mark.parametrize("form", ['api_key: "{}"', "--api-key '{}'", "{{'auth_token': '{}'}}"])
def test_a_token_in_quotes_may_be_a_number(form):
    assert "12345678" not in shown(form.format("12345678"))


@pytest.mark.parametrize("form", FORMS.strip().splitlines())
def test_the_usual_forms_of_secrets_are_replaced(form):
    line = form.replace("<S>", VALUE)
    assert VALUE not in clean(line)[0]
    # What stands before the secret says what it is of, and stays.
    first = re.split(r"[ =]", form[: form.index("<S>")])[0]
    assert clean(line)[0].startswith(first[:8])
    assert VALUE not in shown(line)
    assert clean(clean(line)[0]) == (clean(line)[0], {})


def test_every_rule_has_a_form_in_these_tests():
    other = ["ASIA" + "ABCDEFGHIJKLMNOP", "github_pat_" + "a1B2_" * 8]
    given = [f"ssh-rsa {SECRETS['ssh key']}", *SECRETS.values(), *other]
    texts = [one.encode() for one in (*given, *FORMS.replace("<S>", VALUE).splitlines())]
    for rule in RULES:
        assert any(rule.pattern.search(text) for text in texts), (rule.kind, rule.pattern.pattern)
    for secret in other:
        assert secret not in clean(f"login with {secret} at once")[0]


def test_what_a_record_shows_has_neither_secrets_nor_terminal_commands():
    before = {
        "reason": "login failed: password=hunter22\x1b[2J\x9b1m\r",
        "env": {"HF_TOKEN": "short", "A_KEY_FILE": "/k", "N": 3},
        "lines": ["--token " + VALUE, "a\tb\nc"],
    }
    assert shown(before) == {
        "reason": "login failed: password=[redacted: value of a secret's name]\\r",
        "env": {"HF_TOKEN": "[redacted]", "A_KEY_FILE": "/k", "N": 3},
        "lines": ["--token [redacted: option of a command]", "a\tb\nc"],
    }


def test_a_secret_that_is_a_word_of_a_command_of_its_own_is_masked():
    argv = ["train.py", "--password", "x", "--hf-token", VALUE, "--max-tokens", "5", "--token"]
    masked = [*argv[:2], "[redacted]", "--hf-token", "[redacted]", *argv[5:]]
    assert shown({"argv": argv}) == {"argv": masked}
    assert shown(masked) == masked
    assert shown([f"--token={VALUE}", VALUE[:4]])[1] == VALUE[:4]


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        (["sshpass", "-p", VALUE, "ssh", "n"], ["sshpass", "-p", "[redacted]", "ssh", "n"]),
        (["/usr/bin/curl", "-u", f"me:{VALUE}"], ["/usr/bin/curl", "-u", "[redacted]"]),
        ({"name": "DB_PASSWORD", "value": VALUE}, {"name": "DB_PASSWORD", "value": "[redacted]"}),
        ({"DB_PASSWORD": [VALUE]}, {"DB_PASSWORD": "[redacted]"}),
        ({"Authorization": f"Bearer {VALUE}"}, {"Authorization": "[redacted]"}),
        ({"name": "r50", "value": VALUE}, {"name": "r50", "value": VALUE}),
        (["ssh", "-p", "10000", "n"], ["ssh", "-p", "10000", "n"]),
        (["docker", "run", "-p", "80:80", "image"], ["docker", "run", "-p", "80:80", "image"]),
        ({"DB_PASSWORD": [], "n": 0}, {"DB_PASSWORD": [], "n": 0}),
    ],
)
def test_a_secret_is_known_by_what_stands_beside_it(value, masked):
    assert shown(value) == masked
    assert shown(masked) == masked


@pytest.mark.parametrize("value", ['ab"cd\\ef&gh<1', "pä$wörd-'12345"])
def test_a_value_of_the_environment_is_found_as_files_spell_it(value):
    written = [json.dumps(value), json.dumps(value, ensure_ascii=False), html.escape(value)]
    for text in (value, *written, str(markupsafe.escape(value)), quoteattr(value)):
        assert "[redacted: value of SITE_SECRET]" in clean(f"x {text} y", SITE_SECRET=value)[0]


@pytest.mark.parametrize(
    "form",
    [
        "\x1b[36mpassword\x1b[0m: <S>",
        "token\x1b[0m=\x1b[33m'<S>'",
        "pass\u200bword: <S>",
        "HF_TO\x9b1mKEN=<S>",
        "SLACK=xo\0xb-<S>",
    ],
)
def test_a_colour_in_a_name_hides_no_value(form):
    line = form.replace("<S>", VALUE)
    assert VALUE not in clean(line)[0] + shown(line)
    assert "[redacted" in clean(line)[0]


@pytest.mark.parametrize("kind", ["AWS access key", "Hugging Face token", "JSON web token"])
def test_a_colour_hides_no_token(kind):
    secret = SECRETS[kind]
    for before in ("\x1b[31m", "x\x1b[1m", "at \x1b]0;title\x07", "\x1b]0;", "x\0"):
        text = f"{before}{secret}\x1b[0m end"
        assert secret not in clean(text)[0] + shown(text)
        assert f"[redacted: {kind}]" in clean(text)[0]
    assert clean(f"{secret[:3]}\x1b[0m{secret[3:]}")[0] == f"[redacted: {kind}]"


UNITS = ["TOKEN_", "API_KEY_", "secret-", "SECRET-", "--token-", "_PASS", "key:", "token:a", "eyJ"]
UNITS += ["://a", "://a:", "PASSWORD=a;", "password=a&", "TOKEN=$", "authorization:", "mysql"]
UNITS += ["\x1b[", "\x1b]"]
# Each word for which a rule looks, as the name of a value.
UNITS += sorted({f"{word.decode()}=" for rule in RULES for word in rule.anchors})
UNITS += sorted({f"{word.decode()}='" for rule in RULES for word in rule.anchors})


@pytest.mark.parametrize("unit", UNITS)
def test_time_grows_with_the_length_of_a_line(unit):
    """Four times the text takes about four times as long, with a quadratic pattern sixteen."""
    short, long = (least_seconds(clean, unit * (size // len(unit))) for size in (8_000, 32_000))
    assert long < 9 * short + 0.02


def test_real_logs_have_no_secrets():
    folder = Path(__file__).resolve().parents[4] / "shared/logs"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    for path in sorted(folder.rglob("*.log")):
        redactor = Redactor(patterns({}))
        list(redactor.redact([path.read_bytes()]))
        assert redactor.findings == {}, path


@pytest.mark.parametrize("unit", ["-", "a", " ", "token ", "curl ", "--", "://", "key=", "\\", "'"])
def test_no_line_takes_long_to_search(unit):
    """With a pattern that takes quadratic time this would not end within the session."""
    assert clean("token curl https://" + unit * (2**20 // len(unit)))


def test_a_private_key_is_removed_and_the_lines_keep_their_numbers():
    cleaned, findings = clean(f"before\n{KEY} behind\nA_TOKEN=x\n")
    assert cleaned == (
        "before\n[redacted: private key]\n\n\n behind\n"
        "A_TOKEN=[redacted: secret of the environment]\n"
    )
    assert findings == {"private key": (2, 1), "secret of the environment": (6, 1)}


def test_two_private_keys_on_one_line_are_removed():
    one = KEY.replace("\n", r"\n")
    assert clean(f"a {one} b {one} c")[0] == "a [redacted: private key] b [redacted: private key] c"


def test_nothing_of_a_truncated_private_key_stays():
    assert clean(KEY[:60])[0] == "[redacted: private key]\n"


def test_no_end_of_a_value_is_left_where_its_text_begins_its_spelling():
    values = {f"S{n}_TOKEN": f"abcdefgh{n}&" for n in range(9)}
    written = " ".join(value.replace("&", "&amp;") for value in values.values())
    assert clean(written, **values)[0] == " ".join(
        f"[redacted: value of {name}]" for name in values
    )


def test_values_of_the_environment_are_found_wherever_they_are():
    cleaned, findings = clean("it says s3cr3t-value.", HF_TOKEN="s3cr3t-value", PATH="it says")
    assert cleaned == "it says [redacted: value of HF_TOKEN]."
    assert findings == {"value of HF_TOKEN": (1, 1)}
    assert clean("a 1 b", X_KEY="1") == ("a 1 b", {})


def test_replaced_secrets_are_not_found_again():
    once, _ = clean("A_TOKEN=x https://u:p@h Authorization: Basic abc\n" + KEY)
    assert clean(once) == (once, {})


@pytest.mark.parametrize(
    ("name", "secret"),
    [("hf_token", True), ("API_KEY", True), ("TOKENIZERS_X", False), ("A_KEY_FILE", False)],
)
def test_secret_variables_are_recognised_by_name(name, secret):
    assert is_secret_name(name) is secret


@given(
    st.lists(
        st.sampled_from(["plain", "A_TOKEN=abc", *KEY.splitlines(), SECRETS["NGC key"], ""]),
        max_size=12,
    ),
    st.sets(st.integers(0, 12)),
)
def test_the_result_does_not_depend_on_the_pieces(lines, cuts):
    text = [f"{line}\n".encode() for line in lines]
    places = [0, *sorted(cut for cut in cuts if cut <= len(text)), len(text)]
    pieces = [b"".join(text[a:b]) for a, b in pairwise(places)]
    whole, split = Redactor(patterns({})), Redactor(patterns({}))
    assert b"".join(whole.redact([b"".join(text)])) == b"".join(split.redact(pieces))
    assert whole.findings == split.findings


def test_a_secret_that_is_a_name_is_replaced():
    (name,) = shown({SECRETS["npm token"]: 1})
    assert name == "[redacted: npm token]"
    both = shown({f"{SECRETS['npm token']}{end}": {"a": end} for end in ("", "-2", "-3")})
    assert [one["a"] for one in both.values()] == ["", "-2", "-3"]
    assert shown({"a\x01": 1, "a\\x01": 2}).keys() == {"a\\x01", "a\\x01 (2)"}
