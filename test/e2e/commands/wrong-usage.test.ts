import { afterAll, beforeAll, expect, it } from 'vitest';
import { ACCESS_TOKEN } from '../../unit/client/broker-answers.ts';
import { answerWith, type LoopbackServer, startLoopbackServer } from '../../unit/client/loopback-server.ts';
import { ended, runCommandLine } from './shared/command-line.ts';

const REPORTING = 'arn:aws:iam::222222222222:role/reporting';
const TOKEN = 'token --client acme --service customer-insights';
const PUT = 'client put acme';
const TWICE = 'serve --api a=https://a.example.com --api';
/** No stand-in at all, as in a shell into which nothing of `npm start` was copied. */
const NOTHING_SET = { TOKEN_BROKER_URL: '', AWS_ENDPOINT_URL: '' };

/** Words with blanks between them; a list where one is empty or has a blank. */
type Words = string | readonly string[];
type Wrong = readonly [args: Words, message: RegExp, env?: Readonly<Record<string, string>>];

const WRONG: Readonly<Record<string, readonly Wrong[]>> = {
  'the command line': [
    ['client', /Usage: token-broker client/],
    ['tokens', /unknown command 'tokens'\n\(Did you mean token\?\)/],
    ['client lst', /unknown command 'lst'\n\(Did you mean client list\?\)/],
    ['ROLLBACK acme', /\(Did you mean client rollback\?\)/],
    ['frobnicate', /unknown command 'frobnicate'\n\(--help/],
    ['--enviroment dev', /unknown option '--enviroment'.*Did you mean --environment/s],
    ['--environment prdo client list', /--environment <name>' is invalid\. .* broker have dev, staging, prod;/],
    ['client put acme marked-secret', /^error: too many arguments: a secret .* history of your shell now/],
    ['client remove acme', /unknown command 'remove'\n(?!\(Did)/],
    ['client list --settings', /option '--settings <file>' argument missing/],
    [['client', 'list', '--settings', ''], /'--settings <file>' is invalid\. It must name one file/],
    ['client list --settings --json', /'--settings <file>' is invalid\. It must name one file/],
    ['release list --environment local', /"local" is npm start, which is not deployed/],
    ['whoami', /option '--environment <name>' from TOKEN_BROKER_ENVIRONMENT is/, { TOKEN_BROKER_ENVIRONMENT: 'a/b' }],
  ],
  token: [
    ['token --service customer-insights', /required option '--client <name>' or argument 'client'/],
    [`${TOKEN} --client ../acme`, /option '--client <name>' is invalid/],
    [`${TOKEN} --refused ${ACCESS_TOKEN}`, /--refused .*16 hex digits/],
    [`${TOKEN} acme`, /too many arguments/],
    [`${TOKEN} --raw --json`, /^error: give either --raw or --json/],
    [`${TOKEN} --password=marked-secret`, /unknown option '--password'\n/],
    [`${TOKEN} --url http://broker.example.com`, /must start with https:/],
    [TOKEN, /Give --url or set TOKEN_BROKER_URL.*npm start: eval "\$\(npm run .* env operator/, NOTHING_SET],
    ['token acme customer-insight --environment dev', /"dev" has no service "customer-insight": it has customer-/],
  ],
  'client put': [
    ['client put marked-secret\u0007', /argument 'client' is invalid/],
    [`${PUT} --services a,,b`, /--services <names>.* is invalid/],
    [`${PUT} --expires 2099-02-30`, /Give a day to come, such as 2027-03-01/],
    [`${PUT} --expires 2020-01-01`, /Give a day to come, such as 2027-03-01/],
    [[...PUT.split(' '), '--url', ''], /where is the broker\?/],
    [PUT, /"local" is on this machine.*--environment/, NOTHING_SET],
  ],
  'other commands about clients': [
    ['client check acme --stage CURRENT', /Allowed choices are AWSCURRENT, AWSPENDING/],
    ['client disable acme --yes', /"local" .*AWS_ENDPOINT_URL is not set.* env operator/, NOTHING_SET],
    ['client rollback acme --yes', /"local" .*AWS_ENDPOINT_URL is not set/, NOTHING_SET],
  ],
  serve: [
    [['serve', '--url', ''], /where is the broker\?/],
    ['serve --port 70000', /--port/],
    [`${TWICE} a=https://b.example.com`, /Name each service once/],
    ['serve --api a=https://user:marked-secret@a.example.com', /must not contain a user name/],
    ['serve --api a=https://a.example.com --api-timeout 0', /Give whole seconds, 1 to 3600/],
    ['serve --no-token', /--no-token and --log need an --api/],
    ['serve', /^error: TOKEN_BROKER_SERVE_KEY is empty/, { TOKEN_BROKER_SERVE_KEY: '' }],
    ['serve', /must have 32 to 256 letters/, { TOKEN_BROKER_SERVE_KEY: 'marked-secret' }],
    ['serve --key-file key', /give either .* or --key-file/, { TOKEN_BROKER_SERVE_KEY: 'x'.repeat(32) }],
  ],
  health: [
    ['health --watch --json', /cannot be used with option/],
    ['health --watch 0', /1 to 3600/],
  ],
  doctor: [
    ['doctor --client acme', /give both, or neither/],
    ['doctor acme customer-insights --client acme', /^error: too many arguments/],
    ['doctor --auth-url http://auth.example.com', /must be an https URL/],
    ['doctor --profile-deploy me --environment local', /"local" is npm start, which is not deployed/],
  ],
  audit: [
    ['audit acme --since 10', /Give a number and its unit/],
    [['audit', 'acme', '--caller', 'a b'], /Give the name or the ARN of a role/],
    ['audit acme --outcome fine', /Allowed choices are issued, accepted, /],
    ['audit acme', /AWS_ENDPOINT_URL is not set.*-- env operator/, NOTHING_SET],
  ],
  policy: [
    ['policy arn:aws:sts::222222222222:assumed-role/reporting/me --environment dev', /the role itself, not a session/],
    ['policy arn:aws:iam::222222222222:role/* --environment dev', /one role/],
    [`policy ${REPORTING} --environment local`, /--environment, one of dev, staging, prod/],
    ...['acme', 'acme@1/token-broker', 'acme/token-broker@4', 'acme@a/token-broker@b', 'acme/*'].map(
      (name): Wrong => [
        `policy --deploy-trust ${name}`,
        /<owner>\/<repository> or <owner>@<id>\/<repository>@<id>, as on/,
      ],
    ),
    ['policy --operator --emergency --environment dev', /a role, --deploy, .*, --guard: name only one of them/],
    ['policy --boundary --boundary-exceptions --environment dev', /name only one of them/],
    [`policy ${REPORTING} --break-glass ${REPORTING} --environment dev`, /--break-glass is an exception to --guard/],
    ['policy --emergency --clients acme --environment dev', /--clients narrows --operator/],
    ['policy --operator --clients * --environment dev', /names of clients with commas between them/],
    ['policy --guard --break-glass me --environment dev', /the ARN of an IAM role/],
  ],
  config: [['config nowhere', /argument 'environment' is invalid\. The settings of the broker have dev/]],
};

let server: LoopbackServer;
beforeAll(async () => {
  server = await startLoopbackServer(answerWith(500, ''));
});
afterAll(() => server.close());

const calls = Object.entries(WRONG).flatMap(([about, rows]) =>
  rows.map(([words, message, env]) => ({ about, words, message, env })),
);

it.each(calls)(
  '$about: $words is exit code 2, repeats no value, and sends nothing',
  async ({ words, message, env }) => {
    const args = typeof words === 'string' ? words.split(' ') : words;
    const standIns = Object.fromEntries(Object.keys(NOTHING_SET).map((name) => [name, server.url]));
    const { exitCode, stdout, stderr } = await runCommandLine(args, { ...standIns, ...env });
    expect(exitCode).toBe(2);
    if (!args.includes('--json')) expect(stdout).toBe('');
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(new RegExp(`marked-secret|${ACCESS_TOKEN}`));
    expect(server.requests).toEqual([]);
  },
);

/** @see opentdf/otdfctl#382, TestSprite/testsprite-cli#24 */
it('answers wrong usage in JSON after --json, without a value', async () => {
  const { exitCode, stdout } = await runCommandLine(['token', '--client', 'marked-secret!', '--json'], NOTHING_SET);
  const detail = expect.stringMatching(/^option '--client <name>' is invalid\. A name has/);
  expect({ exitCode, answer: JSON.parse(stdout) }).toEqual({ exitCode: 2, answer: { type: 'wrong-usage', detail } });
});

it('shows the help of a command below another one', async () => {
  const usage = /^Usage: token-broker client put /;
  expect(await runCommandLine(['help', 'client', 'put'], {})).toEqual(ended(0, usage));
});
