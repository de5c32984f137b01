import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../../local/loopback.ts';
import { hasSigner } from '../../support/aws/signers.ts';
import { createCertificateAuthority } from '../../support/services/certificates.ts';
import { startRawServer } from '../../support/services/raw-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { type Answer, answerWith } from '../../unit/client/loopback-server.ts';
import { answering, finished, ROOT } from '../commands/shared/command-line.ts';
import { ROLE, ROLE_VARIABLES } from './scripted-broker.ts';

const FOLDER = join(ROOT, 'docs/examples');
const EXAMPLE = join(FOLDER, 'token_broker.py');
const skipped = hasSigner('botocore') ? '' : ' (skipped: python3 with botocore is not installed)';

describe.skipIf(skipped !== '')(`docs/examples/token_broker.py on a bad day${skipped}`, () => {
  it('repeats every failure without an answer, and a living token serves meanwhile', async () => {
    const { url } = await answering(TOKEN);
    const told = await python(url, WITHOUT_ANSWER);
    expect(Object.keys(told)).toHaveLength(6);
    const expected = { living: true, renewals: 1, ended: 'TokenBrokerError network-error', attempts: 4 };
    for (const outcome of Object.values(told)) expect(outcome).toEqual(expected);
  });

  it('begins no attempt after its timeout, and ends one read later when the broker hangs', async () => {
    const { url, requests } = await answering(() => undefined);
    const failures = ['TokenBrokerError network-error', 'TokenBrokerError timeout'];
    expect(await python(url, HANGING)).toEqual({ failures, isInTime: true });
    expect(requests).toHaveLength(2);
  });

  it('waits no longer than its timeout while another thread searches for AWS keys', async () => {
    const { url } = await answering(TOKEN);
    expect(await python(url, SEARCHING)).toEqual({ waited: ['TokenBrokerError timeout'], first: SECRET });
  });

  it('renews a living token in one thread, while the others go on with it', async () => {
    const server = await answering(TOKEN);
    expect(await python(server.url, RENEWAL)).toEqual({ doneBeforeRenewal: 19, renewals: 1 });
  });

  it('sends through HTTPS_PROXY, except to the hosts of NO_PROXY', async () => {
    const proxy = await startRawServer({ onRequest: (socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n') });
    onTestFinished(proxy.close);
    const HTTPS_PROXY = `http://127.0.0.1:${proxy.port}`;
    const CASES = JSON.stringify([{ HTTPS_PROXY }, { HTTPS_PROXY, NO_PROXY: 'broker.invalid' }]);
    const [byProxy, past] = ['(ProxyConnectionError, OSError)', '(EndpointConnectionError, gaierror)'];
    const told = await python('https://broker.invalid', DETAILS, { CASES });
    expect(told).toEqual([expect.stringContaining(byProxy), expect.stringContaining(past)]);
    expect(new Set(proxy.requests)).toEqual(new Set([expect.stringMatching(/^CONNECT broker\.invalid:443 /)]));
  });

  it('trusts the certificates of AWS_CA_BUNDLE, REQUESTS_CA_BUNDLE and a profile, as boto3 does', async () => {
    const authority = await createCertificateAuthority();
    const server = createServer(await authority.issue(), (_, response) => response.end(JSON.stringify(members)));
    onTestFinished(() => void server.close());
    const url = `https://localhost:${await listen(server, 0)}`;
    const bundle = written('ca.pem', authority.ca);
    const AWS_CONFIG_FILE = written('config', `[default]\nca_bundle = ${bundle}\n`);
    const CASES = JSON.stringify([{ AWS_CA_BUNDLE: bundle }, { REQUESTS_CA_BUNDLE: bundle }, { AWS_CONFIG_FILE }, {}]);
    const untrusted = expect.stringContaining('(SSLError, SSLCertVerificationError)');
    expect(await python(url, DETAILS, { CASES })).toEqual([SECRET, SECRET, SECRET, untrusted]);
  });

  it('reads the keys of a profile anew after AWS says that they have expired', async () => {
    const server = await answering((response, request) => {
      const isOld = request.headers.authorization?.includes('AKIDOLD') && server.requests.length > 1;
      (isOld ? answerWith(403, {}, { 'x-amzn-ErrorType': 'ExpiredTokenException' }) : TOKEN)(response, request);
    });
    const AWS_SHARED_CREDENTIALS_FILE = written('credentials', profile('AKIDOLD'));
    const none = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_SESSION_TOKEN: '' };
    const variables = { ...none, AWS_SHARED_CREDENTIALS_FILE, REWRITTEN: profile('AKIDNEW') };
    expect(await python(server.url, REWRITTEN, variables)).toBe(SECRET);
    const signers = server.requests.map(({ headers }) => /AKID\w+/.exec(headers.authorization ?? '')?.[0]);
    expect(signers).toEqual(['AKIDOLD', 'AKIDOLD', 'AKIDNEW']);
  });

  it('shares no connection and no lock with a child process', async () => {
    const ports: unknown[] = [];
    const { url } = await answering((response, request) => {
      ports.push(response.req.socket.remotePort);
      TOKEN(response, request);
    });
    expect(await python(url, FORKED)).toBe(0);
    expect([ports.length, new Set(ports).size]).toEqual([3, 2]);
    expect(ports[2]).toBe(ports[0]);
  });

  it('says what to do about a refusal by AWS, and shows nothing of what AWS repeats', async () => {
    const refusals = [
      ['aws-signature-expired', { message: 'Signature expired: 20260101T000000Z is now earlier' }, 'clock'],
      ['aws-wrong-scope', { message: 'Credential should be scoped to a valid region.' }, 'AWS_REGION'],
      ['aws-forbidden', { Message: 'Forbidden. For troubleshooting see the guide' }, 'policy'],
      ['aws-refused', { message: `Not today.\n${'x'.repeat(300)}` }, 'Not today.'],
      ['aws-refused', { message: `No: x-amz-security-token:${SESSION}` }, 'identity'],
      ['aws-refused', '', 'identity'],
    ] as const;
    const server = await answering((...exchange) =>
      answerWith(403, refusals[server.requests.length - 1]?.[1])(...exchange),
    );
    const told = await python(server.url, REFUSED_BY_AWS);
    const expected = refusals.map(([type, , advice]) => ({ type, text: expect.stringContaining(advice) }));
    expect(told).toMatchObject(expected);
    for (const { text, seen } of told) {
      expect(text).toMatch(/^[^\n]{10,250}$/);
      expect(seen).not.toContain(SESSION);
      expect(seen).not.toContain('x-amz-');
    }
  });

  it('ends with one sentence as a program that cannot ask', async () => {
    const cases = [
      [{ TOKEN_BROKER_URL: 'broker.example.com' }, /^wrong-url: [^\n]+$/],
      [{ TOKEN_BROKER_URL: 'http://broker.example.com' }, /^wrong-url: [^\n]+$/],
      [{ TOKEN_BROKER_URL: 'https://broker.example.com', AWS_REGION: '' }, /^region-missing: [^\n]+AWS_REGION[^\n]+$/],
      [{ AWS_ACCESS_KEY_ID: '' }, NO_KEYS],
      [{ AWS_PROFILE: 'no' }, NO_KEYS],
    ] as const;
    const CASES = JSON.stringify(cases.map(([variables]) => variables));
    const sentences = cases.map(([, sentence]) => expect.stringMatching(sentence));
    expect(await python('http://127.0.0.1:9', AS_PROGRAM, { CASES })).toEqual(sentences);
  });

  it('prints no token, though json.dumps and ["access_token"] have it', async () => {
    const { url } = await answering(TOKEN);
    const told = await python(url, PRINTED);
    expect(told.printed).toBe(5);
    expect(told.shown).toContain('[redacted]');
    expect(told.shown).not.toContain(SECRET);
    expect(told.used).toEqual([SECRET, SECRET]);
  });
});

it.skipIf(skipped !== '')(`fake_token_broker.py issues, lets tokens end, and fails${skipped}`, async () => {
  const failed = 'TokenBrokerError token-endpoint-unavailable';
  expect(await python('', FAKE)).toEqual({
    ...{ first: 'fake-1', again: 'fake-1', afterItsEnd: 'fake-2', living: 'fake-2', failed, asked: 4, waited: true },
    ...{ recovered: 'fake-3', successor: 'fake-4', statuses: [401, 200] },
  });
});

const NO_KEYS = /^aws-credentials-unavailable: [^\n]+$/;
const SECRET = 'the-access-token-of-this-test';
const SESSION = ROLE.sessionToken;

const members = { access_token: SECRET, token_type: 'Bearer', expires_in: 3600, fingerprint: '0123456789abcdef' };
const TOKEN: Answer = answerWith(200, members);

/** A clock that the program moves, and no pauses. */
const PRELUDE = `
import json, os, random, threading, time
random.random = lambda: 0.5
clock, monotonic = [2e9], time.monotonic
time.time, time.sleep = lambda: clock[0], lambda seconds: None
from concurrent.futures import ThreadPoolExecutor
from botocore import exceptions
from token_broker import TokenBroker, TokenBrokerError
URL = os.environ["TOKEN_BROKER_URL"]

def attempt(call):
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__} {getattr(error, 'type', error)}"

def ask(broker, **more):
    return attempt(lambda: broker.token("acme", "x", **more)["access_token"])

def together(calls, function):
    barrier = threading.Barrier(calls)
    with ThreadPoolExecutor(calls) as pool:
        return list(pool.map(lambda _: [barrier.wait(), function()][1], range(calls)))

def sending(broker, send):
    for connection in [broker.http, getattr(broker, "renewals", None)]:
        if connection: connection.send = send

def cases():
    """Sets the variables of each case in turn."""
    variables = dict(os.environ)
    for case in json.loads(variables["CASES"]):
        os.environ.clear()
        os.environ.update({**variables, **case})
        yield

def tell(**told):
    print(json.dumps(told))
`;

const WITHOUT_ANSWER = `
def outcome(error):
    broker, sent = TokenBroker(URL), []
    first = ask(broker)
    def send(request):
        sent.append(request)
        raise error
    sending(broker, send)
    clock[0] += 3200
    living, renewals = ask(broker) == first, len(sent)
    clock[0] += 3600
    return {"living": living, "renewals": renewals, "ended": ask(broker), "attempts": len(sent) - renewals}

errors = [exceptions.EndpointConnectionError(endpoint_url=URL), exceptions.ConnectTimeoutError(endpoint_url=URL),
          exceptions.SSLError(endpoint_url=URL, error="x"), exceptions.ProxyConnectionError(proxy_url=URL),
          exceptions.ReadTimeoutError(endpoint_url=URL), exceptions.ConnectionClosedError(endpoint_url=URL)]
tell(**{type(error).__name__: attempt(lambda: outcome(error)) for error in errors})`;

const HANGING = `
broker, began = TokenBroker(URL, timeout=1, read_limits=(0.7, 0.4)), monotonic()
failures = sorted(set(together(20, lambda: ask(broker))))
tell(failures=failures, isInTime=monotonic() - began < 1 + 0.7 + 1)`;

const SEARCHING = `
broker = TokenBroker(URL, timeout=0.2)
search, waiters_are_done = broker.session.get_credentials, threading.Event()
begun = threading.Event()
def slow():
    begun.set()
    waiters_are_done.wait(5)
    return search()
broker.session.get_credentials = slow
with ThreadPoolExecutor(1) as pool:
    first = pool.submit(lambda: ask(broker))
    begun.wait(5)
    waited = sorted(set(together(19, lambda: ask(broker))))
    waiters_are_done.set()
    tell(waited=waited, first=first.result())`;

const RENEWAL = `
broker, renewals, done = TokenBroker(URL), [], []
ask(broker)
clock[0] += 3200
send, others_are_done = broker.http.send, threading.Event()
def renew(request):
    renewals.append(request)
    others_are_done.wait(5)
    doneBeforeRenewal.append(len(done))
    return send(request)
doneBeforeRenewal = []
sending(broker, renew)
def call():
    ask(broker)
    done.append(1)
    if len(done) == 19: others_are_done.set()
together(20, call)
tell(doneBeforeRenewal=doneBeforeRenewal[0], renewals=len(renewals))`;

const DETAILS = `
def detail():
    try:
        return TokenBroker(URL).token("acme", "x")["access_token"]
    except TokenBrokerError as error:
        return error.detail
print(json.dumps([detail() for _ in cases()]))`;

const REWRITTEN = `
broker = TokenBroker(URL)
ask(broker)
with open(os.environ["AWS_SHARED_CREDENTIALS_FILE"], "w") as file: file.write(os.environ["REWRITTEN"])
clock[0] += 3600
print(json.dumps(ask(broker)))`;

const FORKED = `
import signal
broker = TokenBroker(URL)
broker.token("acme", "x")
with broker.lock:
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        os._exit("access_token" not in broker.token("acme", "y"))
_, status = os.waitpid(child, 0)
broker.token("acme", "z")
print(status)`;

const REFUSED_BY_AWS = `
import pickle, traceback
told = []
for _ in range(6):
    try:
        TokenBroker(URL).token("acme", "x")
    except TokenBrokerError as error:
        frames = traceback.TracebackException.from_exception(error, capture_locals=True)
        seen = [str(error), repr(error), repr(error.args), traceback.format_exc(), *frames.format(), repr(vars(error))]
        told.append({"type": error.type, "text": str(pickle.loads(pickle.dumps(error))), "seen": "".join(seen)})
print(json.dumps(told))`;

const AS_PROGRAM = `
import runpy, sys
sys.argv, sentences = ["", "a", "b"], []
for _ in cases():
    try:
        runpy.run_path(os.environ["EXAMPLE"], run_name="__main__")
    except SystemExit as end:
        sentences.append(end.code)
print(json.dumps(sentences))`;

const PRINTED = `
import pprint
token = TokenBroker(URL).token("acme", "x")
shown = [str(token), repr(token), f"{token}", "%s" % token, pprint.pformat(token)]
tell(printed=len(shown), shown="".join(shown), used=[token["access_token"], json.loads(json.dumps(token))["access_token"]])`;

const FAKE = `
from fake_token_broker import FakeTokenBroker
broker = FakeTokenBroker()
first, again = ask(broker), ask(broker)
broker.clock += 3600
afterItsEnd = ask(broker)
broker.failure = {"type": "token-endpoint-unavailable", "detail": "It is down.", "retryable": True}
broker.clock += 3200
living, asked, began = ask(broker), len(broker.asked), broker.clock
broker.clock += 400
failed = ask(broker)
waited, asked = broker.clock > began + 400, len(broker.asked) - asked
broker.failure = None
recovered = ask(broker)
statuses = []
def service(token):
    statuses.append(200 if token["access_token"] == "fake-4" else 401)
    return statuses[-1]
broker.call("acme", "x", service, is_refused=lambda status: status == 401)
tell(first=first, again=again, afterItsEnd=afterItsEnd, living=living, failed=failed, asked=asked, waited=waited,
     recovered=recovered, successor=ask(broker), statuses=statuses)`;

type Variables = Readonly<Record<string, string>>;

/** Returns the path of a file that lasts as long as the test. */
function written(name: string, text: string): string {
  const file = join(temporaryFolder(), name);
  writeFileSync(file, text);
  return file;
}

function profile(accessKeyId: string): string {
  return `[default]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = example\n`;
}

/** Returns what a program printed that asks the broker at a URL. */
async function python(url: string, program: string, variables: Variables = {}) {
  const isolated = { HOME: '/nonexistent', AWS_EC2_METADATA_DISABLED: 'true', PYTHONDONTWRITEBYTECODE: '1' };
  const own = { PATH: process.env.PATH, PYTHONPATH: FOLDER, EXAMPLE, TOKEN_BROKER_URL: url };
  const env = { ...isolated, ...ROLE_VARIABLES, ...own, ...variables };
  const { stdout, stderr } = await finished(spawn('python3', ['-c', PRELUDE + program], { env }));
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}
