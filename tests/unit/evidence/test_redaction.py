"""Secrets are found and replaced; similar text stays."""

import html
import json
import re
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import quoteattr

import markupsafe
import pytest
from ansible_collections.scalebench.core.plugins.module_utils.evidence import redaction
from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import (
    Redactor,
    shown,
)
from ansible_collections.scalebench.core.plugins.module_utils.evidence.secret_forms import (
    RULES,
    is_secret_name,
    patterns,
)
from cpu_time import check_proportion
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
{"_auth": "<S>"}
{"stdout": "{\\"auths\\": {\\"r\\": {\\"auth\\": \\"<S>\\"}}}"}
{"stdout": "{\\"_auth\\": \\"<S>\\", \\"a\\": 1}"}
{"stdout": "{\\"identitytoken\\":\\"<S>\\"}"}
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
  hf_token ........................................ <S>
  wandb_api_key ................................... <S>
  aws_secret_access_key ........................... <S>
  huggingface_access_token_of_the_site_api_key . <S>
  azure_storage_connection_account_access_key  <S>
[2026-11-22 05:51:05,953] [INFO] [config.py:1003:print]   comet_api_key ................ <S>
  db_password ..................................... 7<S>
HF_TOKEN.....: <S>
HF_TOKEN................ <S>
| HF_TOKEN | <S> |
|HF_TOKEN|<S>|
| `HF_TOKEN` | `<S>` |
HF_TOKEN   <S>
HF_TOKEN	<S>
export HF_TOKEN <S>
set -gx HF_TOKEN <S>
WANDB_API_KEY -> <S>
WANDB_API_KEY -> '<S>'
WANDB_API_KEY==> <S>
HF_TOKEN := <S>
HF_TOKEN:= "<S>"
password := "<S>"
HF_TOKEN is set to <S>
hf_token (default: <S>)
hf_token (str): <S>
env[WANDB_API_KEY]=<S>
('HF_TOKEN', <S>)
(HF_TOKEN, <S>)
{'name': 'HF_TOKEN', 'value': '<S>'}
{'name': 'HF_TOKEN', 'value': 'two words <S>', 'value_from': None}
{"Key":"HF_TOKEN","Value":"<S>"}
{"key": "db_password", "value": "<S>"}
{value: <S>, name: DB_PASSWORD}
{'value': '<S>', 'name': 'DB_PASSWORD'}
{\\"name\\": \\"HF_TOKEN\\", \\"value\\": \\"<S>\\"}
wandb login --relogin <S>
wandb login --host=https://wandb.example.org <S>
wandb login --relogin --host https://wandb.example.org <S>
['wandb', 'login', '--relogin', '<S>']
wandb.login(key="<S>")
wandb.login(relogin=True, key='<S>')
ipmitool -U admin -P<S> power status
ldapsearch -x -w<S> -b dc=x
https://<S>:@example.org/x.git
https://<S>:x-oauth-basic@example.org/x.git
https://s3.example.org/x?AWSAccessKeyId=x&Signature=<S>&Expires=1
https://s3.example.org/x?AWSAccessKeyId=x&amp;Signature=<S>&amp;Expires=1
HTTPS_PROXY=me:<S>@proxy:3128
proxy: 'me:<S>@proxy.example.org:8080'
curl --proxy me:<S>@proxy:3128 x
GITHUB_PAT=<S>
AZURE_DEVOPS_EXT_PAT: <S>
GITHUB_AUTH=<S>
HF_TOKENS=<S>,x
API_KEYS=x,<S>
api_keys: <S>
api_keys: ['x1', '<S>']
HF_TOKENS=["<S>", "<S>"]
fernet_key = <S>
tls_key: <S>
storage_key=<S>==
enc_key: '<S>'
train.py --wandb-key <S>
--wandb_key <S>
dbpass=<S>
USERPASS=<S>
userpass: <S>
{"a": "{\\\\\\"HF_TOKEN\\\\\\": \\\\\\"<S>\\\\\\"}"}
{"a": "{\\\\\\"HF_TOKEN\\\\\\": \\\\\\"two words <S>\\\\\\"}"}
&quot;HF_TOKEN&quot;: &quot;<S>&quot;
&quot;HF_TOKEN&quot;: &quot;two words <S>&quot;
&#34;api_key&#34;: &#34;<S>&#34;
&quot;HF_TOKEN&quot;&#58; &quot;two words <S>&quot;
&quot;api_key&quot; &#x3A; &quot;<S>&quot;
HF_TOKEN&#61;<S>
db_password &#x3d; <S>
HF_TOKEN\\u003d<S>
{"a": "password\\u003d\\u003d<S>"}
{"a": "password\\u003d\\u003f<S>"}
{"a": "DB_PASSWORD \\\\u003D <S>"}
"HF_TOKEN"\\u003a "two words <S>"
"api_key" \\u003A\u00a0"<S>"
HF_TOKEN\u00a0=\u00a0<S>
db_password\u00a0:\u00a0<S>
hf_token:\u00a0str\u00a0=\u00a0"two words <S>"
{&#x27;password&#x27;: &#x27;<S>&#x27;}
<input name=hf_token value=x data="{&quot;api_key&quot;:&quot;<S>&quot;,&quot;n&quot;:1}">
HF_TOKEN%3D<S>
https://example.org/?env=A%3D1%26db_password%3D%22<S>%22%26x%3D1
%7B%22api_key%22%3A%20%22<S>%22%7D
hf_token=SecretStr('<S>')
WANDB_API_KEY=pydantic.SecretStr("<S>")
password=bytes(b'<S>', 'ascii')
AccountingStoragePass=<S>
StoragePass=<S>
pass_phrase=<S>
ssh_pass_phrase ........ <S>
{"name": "SSH_PASS_PHRASE", "value": "<S>"}
ssh-pass-phrase: <S>
ssh-pass-phrase ........ <S>
backup --pass-phrase <S>
<pass-phrase><S></pass-phrase>
<property name="x.pass-phrase" value="<S>"/>
│ HF_TOKEN │ <S> │
┃ wandb_api_key ┃ <S> ┃
az login --service-principal -u id -p <S> --tenant t
helm registry login -u me -p <S> registry
oc login -u me -p <S>
['az', 'acr', 'login', '-p', '<S>']
  password <S>
[1,0]<stdout>:  password <S>
+ echo <S> | docker login -u me --password-stdin
echo "<S>" | sudo -S apt-get update
echo "<S>" | sudo -kS apt-get update
echo <S> | sudo -n -Sk -p '' apt-get update
echo <S> | sudo --stdin apt-get update
echo <S> | passwd user --stdin
password = decrypt("<S>")
printf '%s' "<S>" | gh auth login --with-token
docker login -u me --password-stdin <<< "<S>"
fs.s3a.secret.key=<S>
spark.hadoop.fs.s3a.secret.key <S>
--conf spark.hadoop.fs.azure.account.key.x.dfs.core.windows.net=<S>
Unseal Key 1: <S>
https://conda.anaconda.org/t/<S>/channel/linux-64
https://registry.example.org/repository/conda/t/<S>/linux-64
https://hooks.slack.com/triggers/T0000/1/<S>
https://hooks.slack.com/workflows/T0000/1/<S>
https://x.webhook.office.com/webhookb2/1@2/IncomingWebhook/<S>/1
https://api.telegram.org/bot12345678:<S>/sendMessage
Ocp-Apim-Subscription-Key: <S>
    client-key-data: <S>==
_auth=<S>==
//registry.example.org/:_auth = "<S>="
//registry.example.org/:_authToken=<S>
cfg.get("password", "<S>")
cfg.get('smtp', 'password', fallback='<S>')
x = os.environ.get('API_TOKEN', '<S>') or os.getenv("db-pass", b"<S>")
{"line": "settings.pop(\\"client_secret\\", \\"<S>\\")"}
getattr(args, "secret", "<S>")
os.environ.setdefault("SITE_JWT", "<S>")
os.getenv("SITE_TOKEN", default="<S>")
connect(user="a", password="<S>")
"""
VALUE = "Zq3" + "x9Kw7Lm2Pv5Rt8Yb1"
HEX = "0123456789abcdef" * 4
# Tokens that issuers give a beginning of its own, and their kinds.
TOKENS = [
    ("AWS access key", "ASIA" + "ABCDEFGHIJKLMNOP"),
    ("GitHub token", "github_pat_" + "a1B2_" * 8),
    ("GitLab token", "gldt-" + "a1B2" * 5),
    ("GitLab token", "glcbt-" + "64_a1B2" * 5),
    ("Weights & Biases key", "wandb_v1_" + "a1B2_" * 15),
    ("Weights & Biases key", "local-" + HEX[:40]),
    ("Slack token", "xapp-" + "1-A0123-456-" + HEX),
    ("DeepSeek or OpenRouter key", "sk-" + HEX[:32]),
    ("DeepSeek or OpenRouter key", "sk-or-" + "v1-" + HEX),
    ("Groq key", "gsk_" + "a1B2" * 13),
    ("xAI key", "xai-" + "a1B2" * 20),
    ("Google key", "GOCSPX-" + "a1-_" * 7),
    ("DigitalOcean token", "dop_v1_" + HEX),
    ("Atlassian token", "ATATT3" + "xFfGF0_-" * 8 + "=1A2B3C4D"),
    ("GitLab token", "glimt-" + "a1B2" * 6),
    ("Grafana token", "glc_" + "eyJv" * 12 + "=="),
    ("Atlassian token", "ATCTT3" + "xFfGF0_-" * 8 + "=1A2B3C4D"),
    ("Vault token", "hvb." + "aB1_" * 8),
    ("Docker Swarm token", "SWMTKN-" + "1-" + "a1b2c" * 10 + "-" + "a1b2c" * 5),
    ("K3s token", "K10" + HEX + "::server:" + HEX[:32]),
    ("OpenShift token", "sha256~" + "aB1_" * 11),
    ("Tailscale key", "tskey-" + "auth-kAb1CD2CNTRL-" + "aB12" * 8),
    ("Prefect key", "pnu_" + "aB12" * 9),
    ("LangSmith key", "lsv2_" + "pt_" + HEX[:32] + "_0123456789"),
    ("Together key", "tgp_v1_" + "aB-_" * 10),
    ("Perplexity key", "pplx-" + "aB12" * 12),
    ("RunPod key", "rpa_" + "AB12" * 12),
    ("Amazon Bedrock key", "ABSK" + "QmVk" * 30 + "="),
    ("JFrog token", "AKCp" + "aB12" * 17),
    ("JFrog token", "cmVmdGtu" + "aB12" * 14),
    ("Sentry token", "sntrys_" + "eyJp" * 20 + "=_abc"),
    ("password hash", "$1" + "$salt$" + "aB1./" * 4 + "aB"),
    ("password hash", "$apr1" + "$Salt1234$" + "aB1./" * 4 + "aB"),
    ("password hash", "$5" + "$rounds=5000$s.a/lt$" + "aB1./" * 8 + "aB1"),
    ("password hash", "$6" + "$s.a/lt0123456789$" + "aB1./" * 17 + "a"),
    ("password hash", "$y" + "$j9T$s.a/lt0123456789$" + "aB1./" * 8 + "aB1"),
    ("password hash", "$gy" + "$j9T$s.a/lt0123456789$" + "aB1./" * 8 + "aB1"),
    ("password hash", "$7" + "$CU..../....s.a/lt0123456789$" + "aB1./" * 8 + "aB1"),
    ("password hash", "$2b" + "$12$" + "aB1./" * 10 + "aB1"),
    ("password hash", "$argon2id" + "$v=19$m=65536,t=3,p=4$c2FsdA$" + "aB1+/" * 8),
    ("age key", "AGE-SECRET-" + "KEY-1" + "QPZRY9X8" * 7),
]


@pytest.mark.parametrize(("kind", "secret"), TOKENS)
def test_tokens_are_known_by_their_beginning(kind, secret):
    for form in ("login with {} at once", "x={}", '["{}"]'):
        assert clean(form.format(secret))[0] == form.format(f"[redacted: {kind}]")
    assert secret not in clean(f"it was {secret}.")[0]


def test_the_credentials_of_munge_and_kaggle_are_replaced():
    for form in (
        "MUNGE:{}:",
        '{{"username":"me","key":"{}"}}',
        "{{'username': 'me', 'key': '{}'}}",
    ):
        assert HEX[:32] not in clean(form.format(HEX[:32]))[0]
    assert clean(f"user: me, key: {HEX[:32]}")[1] == {}


UUID = "3f9a7c1d-5e8b-2a60-4c7d-" + "9e1f3b5a7c9d"


@pytest.mark.parametrize("form", ["VAULT_SECRET_ID={}", '"secret_id": "{}"', "SecretID:  {}"])
def test_a_uuid_is_a_secret_where_its_name_says_so(form):
    assert UUID not in shown(form.format(UUID))
    assert clean(f"JobID: {UUID} secret_id: database1")[1] == {}


def test_the_key_of_kubeadm_is_replaced_where_it_is_one():
    for form in ("kubeadm join --control-plane --certificate-key {}", '"certificateKey": "{}"'):
        assert HEX not in shown(form.format(HEX))
    assert clean("--certificate-key server1.pem")[1] == {}


@pytest.mark.parametrize(
    "text",
    [
        "env:\n- name: HF_TOKEN\n  value: <S>\n- name: LR\n  value: a1B2",
        '{"name": "DB_PASSWORD",\n\n   "value": "<S>"\n}',
        '"Key": "DB_PASSWORD",\r\n"Value": "<S>"',
    ],
)
def test_a_value_may_stand_on_the_line_after_its_name(text):
    given = text.replace("<S>", VALUE)
    cleaned, findings = clean(given)
    assert cleaned == text.replace("<S>", "[redacted: secret of the environment]")
    assert sum(count for _, count in findings.values()) == 1
    assert clean(cleaned) == (cleaned, {})


@pytest.mark.parametrize(
    "text",
    [
        "- name: LR\n  value: a1B2c3",
        "name: HF_TOKEN\nloss 2.3\nvalue: a1B2c3",
        "name: CACHE_KEY\nvalue: 4096\nname: TOKEN\nvalue of the layer: a1B2c3",
        "- name: HF_TOKEN\n  valueFrom:\n    secretKeyRef:\n      name: hub1\n      key: token",
    ],
)
def test_the_line_after_another_name_stays(text):
    assert clean(text) == (text, {})


BLOCKS = [
    "password: |\n  <S>\nnext: 1",
    "password: |-\n\n  <S>\n\n  <S>\nnext: a1B2c3",
    "  db_password: >\n    two words <S>\n  next: two words\n",
    "- DB_PASSWORD: |+2 # of the site\n     <S>\n- next: a\n",
    'vars:\n  "client_secret": !unsafe |\n    <S>\n',
    "stringData:\r\n  password: |\r\n    <S>\r\n  next: |\r\n    text\r\n",
    "[1,0]<stdout>:  ansible_become_pass: |\n[1,0]<stdout>:    <S>\n[1,0]<stdout>:  next: 1",
    "api_key: |\n  <S>\nhf_token: >-\n  <S>\n",
    "- name: HF_TOKEN\n  value: |\n    <S>\n- name: A\n  value: |\n    text1\n",
    "- name: 'HF_TOKEN'\n  'value': |\n    <S>\n",
    "spring.db.password: |\n  <S>\nhub.token: |\n  <S>\n",
    "x:\n- - HF_TOKEN: |\n      <S>\n    next: a",
    "password: |\n  '<S>\n",
    "password: |\n  $<S>\n",
]


@pytest.mark.parametrize("text", BLOCKS)
def test_a_value_may_be_a_block_of_yaml(text):
    given = text.replace("two words <S>", "<S>").replace("'<S>", "<S>").replace("$<S>", "<S>")
    cleaned, findings = clean(text.replace("<S>", VALUE))
    assert cleaned == given.replace("<S>", "[redacted: value of a secret's name]")
    assert sum(count for _, count in findings.values()) == text.count("<S>")
    assert clean(cleaned) == (cleaned, {})
    # Also where its lines come one by one.
    redactor = Redactor(patterns({}))
    pieces = text.replace("<S>", VALUE).encode().splitlines(keepends=True)
    assert b"".join(redactor.redact(pieces)).decode() == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "config: |\n  threads: 8\n  path: a1B2c3\n",
        "password: |\nnext: a1B2c3\n",
        "password_file: |\n  /etc/a1B2c3\n",
        "max_tokens: >\n  a1B2c3d4\n",
        "password: |\n  {{ vault_password }}\n  ${DB_PASSWORD}\n  $DB_PASSWORD\n",
        "password: >\n  ******\n  <secret>\n",
        "token: |\n  What a reader of Llama3 splits text into.\n  32000\n  vocabulary\n",
        "hf_token: |\n  https://hub1.example.org/x\n  /home/me/.cache/hub1\n",
        "enter the password: |\n    a1B2c3d4\n",
        "| password: |\n|    a1B2c3d4 |\n",
        "loss: 2.3 | password: |\n   a1B2c3d4\n",
    ],
)
def test_a_block_of_yaml_that_is_no_secret_stays(text):
    assert clean(text) == (text, {})


def test_a_private_key_in_a_block_of_yaml_is_removed_as_a_whole():
    indented = KEY.replace("\n", "\n  ")
    cleaned, findings = clean(f"private_key: |\n  {indented}\nnext: 1\n")
    assert cleaned == "private_key: |\n  [redacted: private key]\n\n\n\nnext: 1\n"
    assert [*findings] == ["private key"]


# Output of trainings, of their argument parsers and of other programs.
HARMLESS = r"""
{"a": "password\u003d\u0022\u0022"}
if api_key\u003d\u003d None:
  max_tokens ...................................... 2048
  max_position_embeddings ......................... 4096
  num_key_value_heads ............................. 8
  tokenizer_type .................................. GPT2BPETokenizer
  tokenizer_model ................................. /data/Llama-3.1-8B/tokenizer.model
  use_auth_token .................................. None
  hf_token ........................................ None
  hf_token ........................................ ****
  wandb_api_key ................................... $WANDB_API_KEY
  bos_token ....................................... <s>
  eos_token ....................................... </s>
  eos_token ....................................... <|end_of_text_1|>
  special_tokens_map_file ......................... special_tokens_map1.json
  vocab_extra_ids_token ........................... 128Extra
  hub_token_ttl ................................... 24hours
  ssl_private_key ................................. /etc/ssl/Host1.key
  train_data_path_key ............................. text2Text
  dataloader_secret ............................... unused
tokens per second   1234.5
tokens/s  12345.67   loss 2.3451e-02
token_embedding: 768
pad_token_id -> 50256
access_tokens -> 123456
key = layer1.weight
vocab tokens | 30522 |
| access_token | varchar(255) |
| api_key | 2026-11-22 | v1.2.3rc1 |
| HF_TOKEN | AWS_S3_SECRET_KEY |
| secret | Version2 |
NCCL_IB_PKEY=0x7fff   NCCL_IB_PKEY   0x7fff1234
Tokenizer: hf
missing keys: ['lm_head.weight1']; unexpected_keys -> ['model.layer1.Bias2']
state_dict key -> model.layers.0.self_attn.q_proj.weight
storage_key=data/0 storage_key: model_layer1_weight_0 enc_key=Linear(in_features=768)
tls_key: /etc/pki/tls/private/Host1.key tls_key=certs/Server1-private-key.pem
  --hf-token HF_TOKEN   HuggingFace token with access to gated models
  --api-key API_KEY     OpenAI-compatible key (default: None)
  --hf-token   --lr1e-4
azure-keyvault-secret        4.9.0b1
hf-token      Opaque                                1      5d12h
default-token kubernetes.io/service-account-token   3      12d
wandb: Currently logged in as: me. Use `wandb login --relogin` to force relogin of 2 users
wandb: run `wandb login --relogin` or wandb login --relogin and rerun step 2
wandb.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])
wandb login --verify --cloud then
value = os.environ.get('HF_TOKEN', config.hubToken2) or os.getenv("API_KEY", defaultKey1())
export HF_TOKEN WANDB_API_KEY AWS_S3_KEY
export HF_TOKEN before you start
HF_TOKEN is not set; HF_TOKEN is set to None; hf_token (default: None)
FILE_PAT=train-00000-of-01024 SLURM_AUTH=auth/munge USE_AUTH=1 AUTH=none REQUIRE_AUTH: basic
missing api_keys: ['OPENAI_API_KEY', 'x'] special_tokens=['<s1>']
SPECIAL_IDS=1 special_tokens=<s>,</s> shared_keys: encoder2.Weight
no_proxy=localhost,127.0.0.1 HTTP_PROXY=proxy:3128 proxy: root@proxy https_proxy=http://proxy:3128/
git@github.com:owner/repository2.git through proxy ssh://git@host:22/
https://x-access-token:@host https://host/x?design=1&signatures=12345678
image registry:5000/train:local-0123456789abcdef0123456789abcdef01234567
wandb_v1_resnet_50 gsk_test xai-sdk-python local-0123456789abcdef
{"name": "max_tokens", "value": "2048"} {name: TOKEN_LIMIT, value: 32000}
{'name': 'epoch', 'value': 'a1B2'} {value: 3e-4, name: LR}
{"key": "batch_size", "value": "a1B2c3"} {value: 1024, name: CACHE_KEY}
/api?max_tokens%3D2048&q=token%3A1 lines%3D12
ipmitool -Path /x; unzip -Path /x
user: password auth2 failed; the user password is set1
AccountingStoragePass   = (null)
JobCompPass             = (null)
cannot echo hello | tee log1; echo step2 | sed --stdinx
tensor fs.key 12 account.keyring model.secret.keys see /t/abcdefgh/x pplx-7b-online rpa_test
glc_layer1 pnu_test sha256~1 hvb.x ABSKIP
login -p 22 node1; az vm list -p x1; ssh-login -p 10022 node1
│ hf_token │ None │
awk '{print $6}' log | sed -E 's/^(.*)$5$/$1$2/' && echo "$6$salt" $2a$10 $y$x "$1$dir$name"
sudo sed -n 's/$6$.*$/x/p' shadow; regex ^\$6\$[./A-Za-z0-9]+$ root:$6$... bin:*:19000 user:!:19000
cp $1$prefix$/usr/local/lib/Python3 $y$a$b$c $2b$12$short $argon2id$v=19$m=65536,t=3,p=4 argon2id
self._auth = HTTPBasicAuth2(user1) use_auth=abcdEF12 _auth=None _auth=basic _auth = getAuth2(x)
_auth=${NPM_AUTH} _auth=$NPM_AUTH _auth=true _authToken=${NPM_TOKEN}
password: SecretStr('**********') api_key=SecretStr('') hf_token=Secret('**********')
    token = kwargs.pop("use_auth_token")
    hf_token = os.environ.get("HF_TOKEN") or os.environ["HF_TOKEN"]
    password = getpass.getpass("Of node1? ") if ask else input('Of node1? ')
    eos_token = tokenizer.decode("</s>"); password = password.encode("latin1")
cp /opt/conda/lib/t/00-load-test.t file:///opt/conda/lib/t/00-load.t
ls //opt/conda/t/00-load1; echo words | xargs --stdin
echo train1.py | ruff check --stdin-filename train1.py -; echo key1 | passwd --stdin-only
apptainer exec login.sif srun -p gpu1; docker run --name login-1 -p 8080:80 image1
docker exec cluster/login -p fp16
compass=north1 bypass=Line2Line sea_surface_pass: 12.5 encompass   12345a
cfg.get("password") cfg.get("password", None) cfg.get("password", "") cfg.get("password", user.name)
cfg.get("password_length", "12") tokenizer.get("pad_token", "<pad>")
d.get("pass", "3") get("bypass", "1")
pass: 3 bypass: true num_passes=2 compass password_length=1234567 PASSWORD_LENGTH=12
LlamaTokenizer(pad_token="[PAD]", unk_token='<unk>')
BertTokenizer(special_tokens={'bos_token': '<s>', "eos_token": "</s>"})
EOS_TOKEN=</s> BERT_MASK_TOKEN: [MASK1] --cls-token [CLS1] get("SEP_TOKEN", "[SEP]")
widget("password", "a") get("cache_key", "Line2Line") budget("password", "a") get(password, "x")
"""
# Of real logs of trainings and of a server's configuration.
REAL = """
worker_key:_worker, size: {'_worker': 8}
returning an empty token. Retrieving token from files failed with "Not found: Could not locate"
AuthorizedKeysFile      .ssh/authorized_keys .ssh/authorized_keys2
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
PubkeyAuthentication yes
"""


@pytest.mark.parametrize("line", [*HARMLESS.strip("\n").splitlines(), *REAL.strip().splitlines()])
def test_output_that_names_tokens_and_keys_stays(line):
    assert clean(line) == (line, {})
    assert shown(line) == line


@pytest.mark.parametrize("secret", ["a&b;c!Z1x", "=abcd1234", "ab&quot;cd12E", "Ab%26cd1=="])
@pytest.mark.parametrize("form", ["DB_PASSWORD={}", "password: {}", "db_password ..... {}"])
def test_a_password_may_have_characters_that_separate_other_text(form, secret):
    if not (".." in form and secret.startswith("=")):
        assert clean(form.format(secret))[0][-1] == "]"


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
    given = [f"ssh-rsa {SECRETS['ssh key']}", *SECRETS.values(), *(token for _, token in TOKENS)]
    given += [f"MUNGE:{HEX}:", f"'username': 'me', 'key': '{HEX[:32]}'"]
    given += [f"secret_id: {UUID}", f"--certificate-key {HEX}"]
    texts = [one.encode() for one in (*given, *FORMS.replace("<S>", VALUE).splitlines())]
    for rule in RULES:
        found = any(re.search(rule.pattern, text) for text in texts)
        assert found, f"add a made-up {rule.kind} to TOKENS or FORMS here: {rule.pattern!r}"


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
        ({"Key": "DB_PASSWORD", "Value": VALUE}, {"Key": "DB_PASSWORD", "Value": "[redacted]"}),
        (["wandb", "login", "--relogin", VALUE], ["wandb", "login", "--relogin", "[redacted]"]),
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


@pytest.mark.parametrize("value", ['ab"cd\\ef&gh<1', "pä$wörd-'12345", "12345678&", "12345678\\"])
def test_a_value_of_the_environment_is_found_as_files_spell_it(value):
    written = [json.dumps(value), json.dumps(value, ensure_ascii=False), html.escape(value)]
    for text in (value, *written, str(markupsafe.escape(value)), quoteattr(value)):
        found = clean(f"x {text} y", SITE_SECRET=value)[0]
        assert re.fullmatch(r"x ([\"']?)\[redacted: value of SITE_SECRET\]\1 y", found), found


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
UNITS += ["\x1b[", "\x1b]", "&quot;", "&#34;", "value: a", "'value':'", "name: A_TOKEN, value: "]
UNITS += [
    "password  ",
    "password..1.2.",
    "password|",
    "hf_token(",
    "api_key\t",
    "A_TOKEN, ",
    "\\\\'",
]
UNITS += [
    "api_key%3D",
    "proxy:a:",
    "proxy ",
    "wandb login --a ",
    "wandb.login(",
    "tls_key=a/",
    "X_AUTH=",
]
UNITS += [
    "password&quot;:&quot;",
    "export A_TOKEN ",
    "value:&quot;",
    "password is set to ",
    "api_key->",
]
UNITS += ["A_TOKEN\\u003d", "A_TOKEN&#61;", "db_password\u00a0", "api_key\\u003a\u00a0", "\\u003d"]
UNITS += ["://conda", "://conda/t/", "PAD_TOKEN_", "--pad-token-"]
UNITS += ["password: |", "- ", "a: | #", "password: | #", "a]", "a" * 99 + ": |  "]
UNITS += [
    "get('password','",
    "get(",
    "get('a','",
    "getattr(a,",
    "get('db_pass_",
    "get('a-",
    "get(' ",
]
# Each word for which a rule looks, as the name of a value.
UNITS += sorted({f"{word.decode()}=" for rule in RULES for word in rule.anchors})
UNITS += sorted({f"{word.decode()}='" for rule in RULES for word in rule.anchors})


@pytest.mark.parametrize("unit", UNITS)
def test_time_grows_with_the_length_of_a_line(unit):
    """Four times the text takes about four times as long, with a quadratic pattern sixteen."""
    short, long = ([unit * (size // len(unit))] for size in (8_000, 32_000))
    check_proportion(clean, short, long)


def test_real_logs_have_no_secrets():
    folder = Path(__file__).resolve().parents[4] / "shared/logs"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    for path in sorted(folder.rglob("*.log")):
        redactor = Redactor(patterns({}))
        list(redactor.redact([path.read_bytes()]))
        assert redactor.findings == {}, path


@pytest.mark.parametrize(
    "unit",
    [
        "-",
        "a",
        " ",
        "token ",
        "curl ",
        "--",
        "://",
        "key=",
        "\\",
        "'",
        "&",
        ".",
        "|",
        "\t",
        "%3D",
        "\u00a0",
    ],
)
def test_no_line_takes_long_to_search(unit):
    """With a pattern that takes quadratic time this would not end within the session."""
    assert clean("token curl https://" + unit * (2**20 // len(unit)))


@pytest.mark.parametrize("unit", [" ", ",", " ,", "\r"])
def test_no_line_that_ends_like_a_name_takes_long_to_search(unit):
    assert clean("name: A_TOKEN" + unit * 2**18 + "x")[1] == {}


def test_a_program_that_starts_repeats_is_looked_at_only_where_it_logs_in(monkeypatch):
    searched = []
    monkeypatch.setattr(redaction, "_shown_text", lambda text: searched.append(text) or text)
    for program in ("docker", "/usr/bin/apptainer"):
        shown([program, "exec", "image.sif", "python", "train.py", "-p"])
    assert searched == []
    shown(["docker", "login", "-p", "word"])
    assert searched


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
    [
        *(("hf_token", True), ("API_KEY", True), ("TOKENIZERS_X", False), ("A_KEY_FILE", False)),
        *(("GITHUB_PAT", True), ("FILE_PAT", False), ("NPM_AUTH", True), ("API_KEYS", True)),
        *(("HF_TOKENS", True), ("max_tokens", False), ("special_tokens", False)),
        *(("ssh_pass_phrase", True), ("KEY_PASSPHRASE", True), ("PASS_PHRASES", False)),
    ],
)
def test_secret_variables_are_recognised_by_name(name, secret):
    assert is_secret_name(name) is secret


@given(
    st.lists(
        st.sampled_from(
            [
                *("plain", "A_TOKEN=abc", *KEY.splitlines(), SECRETS["NGC key"], ""),
                *("- name: A_TOKEN", "  value: a1B2"),
            ]
        ),
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


@pytest.mark.parametrize("key", ["smtp-pass", "db-pass", "Client-Secret", "hf-token", "X-Api-Key"])
def test_a_key_of_a_mapping_may_have_hyphens(key):
    assert shown({"mail": [{key: "x"}]}) == {"mail": [{key: "[redacted]"}]}


@pytest.mark.parametrize(
    "key",
    [
        "pass",
        "bypass",
        "pass-2",
        "password_length",
        "node-key-1",
        "1-token",
        "pad_token",
        "SEP_TOKEN",
    ],
)
def test_a_key_of_a_mapping_that_names_no_secret_leaves_its_value(key):
    assert shown({key: "3"}) == {key: "3"}


def test_a_short_default_of_a_lookup_is_replaced():
    for name in ("password", "DB_PASS", "hf_token"):
        assert ', "[redacted: ' in clean(f'cfg.get("{name}", "x")')[0]


def test_a_secret_that_is_a_name_is_replaced():
    (name,) = shown({SECRETS["npm token"]: 1})
    assert name == "[redacted: npm token]"
    both = shown({f"{SECRETS['npm token']}{end}": {"a": end} for end in ("", "-2", "-3")})
    assert [one["a"] for one in both.values()] == ["", "-2", "-3"]
    assert shown({"a\x01": 1, "a\\x01": 2}).keys() == {"a\\x01", "a\\x01 (2)"}
