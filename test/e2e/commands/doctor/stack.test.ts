import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { environments } from '../../../../lib/environments.ts';
import { parseEnvironment } from '../../../../lib/settings/settings.ts';
import { startFunctionUrl } from '../../../../local/function-url/server.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { answerWith } from '../../../unit/client/loopback-server.ts';
import { type AwsResult, refused, startAws } from '../shared/aws-operations.ts';
import { answering, beginCommandLine, runCommandLine, SHELL_KEY } from '../shared/command-line.ts';

const DEV = parseEnvironment('dev', environments.dev);
const FUNCTION = '/2015-03-31/functions/token-broker';
const [STATUS, DRIFTS] = ['DescribeStackDriftDetectionStatus', 'DescribeStackResourceDrifts'];
const LIVE = `GET ${FUNCTION}-dev/aliases/live`;
const HEALTH = `POST ${FUNCTION}-health-dev/invocations`;
const DIRECT = `DryRun POST ${FUNCTION}-dev/invocations?Qualifier=live`;
const REFUSED = 'dynamodb:GetItem';
const PAIR = { client: 'acme', service: 'customer-insights' };
const MISS = { pair: PAIR, reason: 'failed', failure: 'table-unavailable', detail: REFUSED };
const RULE = { clients: 'all', services: 'all', operations: ['check'] };
const LINES =
  'alarms aws-credentials call clock connection direct-invoke drift health-run identity subscriptions unsigned-call url versions';

const WELL =
  /^Looking at the stack of dev in account 1{12}, region eu-west-1, at \d{4}-\d\d-\d\dT[\d:.]+Z, which takes at most three minutes\.\nCLIENT {2}customer-insights\nacme {4}accepted \(lifetime-cut\)\nNothing is wrong\.\n$/;

const CONFIRMED = '<key>SubscriptionsConfirmed</key><value>1</value>';

/** AWS's results for a stack that is as deployed. */
const RESULTS: Readonly<Record<string, () => AwsResult>> = {
  [LIVE]: () => ({ Name: 'live', FunctionVersion: '2', RoutingConfig: null }),
  DescribeStacks: () => `<Stacks>${member(`<Outputs>${member(URL_OUTPUT)}</Outputs>`)}</Stacks>`,
  DetectStackDrift: () => '<StackDriftDetectionId>d-1</StackDriftDetectionId>',
  [STATUS]: () => '<DetectionStatus>DETECTION_COMPLETE</DetectionStatus>',
  [DRIFTS]: () => '<StackResourceDrifts></StackResourceDrifts>',
  ListStackResources: () => `<StackResourceSummaries>${RESOURCES.map(resource).join('')}</StackResourceSummaries>`,
  DescribeAlarms: () => ALARMS,
  AssumeRole: () => `<Credentials>${CREDENTIALS}</Credentials>`,
  GetCallerIdentity: () => '<Arn>arn:aws:sts::111111111111:assumed-role/operator/me</Arn>',
  GetTopicAttributes: () => `<Attributes><entry>${CONFIRMED}</entry></Attributes>`,
  [HEALTH]: () => RUN,
  [DIRECT]: () => deniedBy('an explicit deny in a service control policy'),
};

const deniedBy = (policy: string) => refused('AccessDeniedException', 403, `x with ${policy}`);
const member = (content: string) => `<member>${content}</member>`;
const URL_OUTPUT = '<OutputKey>Url</OutputKey><OutputValue>https://abc.lambda-url.eu-west-1.on.aws/</OutputValue>';
const RESOURCES = [
  ['AWS::CloudWatch::Alarm', 'token-broker-errors-dev'],
  ['AWS::CloudWatch::CompositeAlarm', 'token-broker-slo-dev'],
  ['AWS::Lambda::Function', 'token-broker-dev'],
];
const resource = ([type, id]: readonly string[]) =>
  member(`<ResourceType>${type}</ResourceType><PhysicalResourceId>${id}</PhysicalResourceId>`);
const ALARMS = {
  MetricAlarms: [{ AlarmName: 'token-broker-errors-dev', StateValue: 'OK', StateReason: '1 datapoint [0.0]' }],
  CompositeAlarms: [{ AlarmName: 'token-broker-slo-dev', StateValue: 'OK' }],
};
const CREDENTIALS =
  '<AccessKeyId>AKIDLOOKUP</AccessKeyId><SecretAccessKey>x</SecretAccessKey><SessionToken>x</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>';
const UNREAD = '<DetectionStatusReason>no right</DetectionStatusReason>';
const drifted = (status: string, differences = '') => {
  const name = '<LogicalResourceId>Table0</LogicalResourceId><ResourceType>AWS::DynamoDB::Table</ResourceType>';
  const drift = `<StackResourceDriftStatus>${status}</StackResourceDriftStatus>`;
  const properties = `<PropertyDifferences>${differences}</PropertyDifferences>`;
  return `<StackResourceDrifts>${member(`${name}${drift}${properties}`)}</StackResourceDrifts>`;
};
const UNPROTECTED = member(
  '<PropertyPath>/DeletionProtectionEnabled</PropertyPath><ExpectedValue>true</ExpectedValue><ActualValue>false</ActualValue>',
);

const RUN = {
  checked: [{ pair: PAIR, finding: 'accepted', cause: 'lifetime-cut' }],
  missed: [],
  probe: { condition: 'denied', said: 'access-denied' },
};

/** AWS and the broker, of the next test. */
let world: Awaited<ReturnType<typeof startWorld>>;

async function startWorld() {
  const results = new Map(Object.entries(RESULTS));
  const own = { results, caller: { role: SHELL_KEY.role, account: DEV.account, rules: [RULE] }, isBlind: false };
  const aws = await startAws(({ operation, key }) => {
    const isOpen = /DescribeStacks|Topic|AssumeRole|Identity/.test(operation);
    if (world.isBlind && key === SHELL_KEY.accessKeyId && !isOpen) return refused('AccessDeniedException', 403);
    return results.get(operation)?.() ?? refused('NotFound', 404);
  });
  const broker = await startFunctionUrl({
    handler: async () => ({ statusCode: 200, headers: {}, body: JSON.stringify(world.caller) }),
    callers: [SHELL_KEY],
    port: 0,
  });
  onTestFinished(broker.close);
  const env = { AWS_ENDPOINT_URL: aws.url, AWS_ENDPOINT_URL_STS: aws.url };
  const command = ['doctor', '--stack', '--environment', 'dev', '--region', 'us-east-1', '--url', broker.url];
  return Object.assign(own, { env, command, calls: aws.calls });
}

describe('doctor --stack', () => {
  beforeEach(async () => {
    world = await startWorld();
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', profiles('direct', 'deploy', 'emergency'));
    vi.stubEnv('AWS_CONFIG_FILE', '/nonexistent');
    // No line may depend on how fast this machine is. The suite of doctor itself proves what a slow answer means.
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal);
    return () => {
      vi.unstubAllEnvs();
      timeout.mockRestore();
    };
  });

  async function doctor(...args: readonly string[]) {
    const { exitCode, stdout, stderr } = await runCommandLine([...world.command, ...args], world.env);
    return { exitCode, lines: stdout.trimEnd().split('\n').toSorted(), stdout, stderr };
  }

  it('proves each line, and changes nothing', async () => {
    const { exitCode, lines, stderr } = await doctor('--profile-direct', 'direct');
    expect(lines.map((line) => line.split(/ +/).slice(0, 2))).toEqual(LINES.split(' ').map((name) => ['ok', name]));
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringMatching(WELL) });
    const operations = world.calls.map(({ operation }) => operation);
    const changes = operations.filter((name) => !/^(?:Describe|Detect|Get|List|GET )/.test(name));
    expect(new Set(changes)).toEqual(new Set([HEALTH, DIRECT]));
  });

  it.each<[line: string, said: string, operation: string, change: Change]>([
    ['drift', '/DeletionProtectionEnabled is false, and must be true', DRIFTS, drifted('MODIFIED', UNPROTECTED)],
    ['drift', 'Table0 AWS::DynamoDB::Table: missing', DRIFTS, drifted('DELETED')],
    ['drift', `is ${'x'.repeat(80)}…, and`, DRIFTS, drifted('MODIFIED', UNPROTECTED.replace('false', 'x'.repeat(81)))],
    ['versions', '2 and 3, and must be a single number', LIVE, ['null', '{"AdditionalVersionWeights":{"3":0.1}}']],
    ['versions', 'Versions of the aliases: $LATEST', LIVE, ['"2"', '"$LATEST"']],
    ['subscriptions', 'token-broker-dev: 0', 'GetTopicAttributes', ['>1<', '>0<']],
    ['alarms', 'In ALARM: token-broker-errors-dev', 'DescribeAlarms', ['"OK"', '"ALARM"']],
    ['alarms', 'In ALARM: token-broker-slo-dev', 'DescribeAlarms', [/(slo-dev.*)OK/, '$1ALARM']],
    ['health-run', 'did not finish', HEALTH, { errorType: 'Error' }],
    ['health-run', 'without an access rule was not refused', HEALTH, ['"denied"', '"not-denied"']],
    ['health-run', `insights ended with table-unavailable: ${REFUSED}`, HEALTH, { ...RUN, missed: [MISS] }],
    ['direct-invoke', 'may invoke the function past its URL', DIRECT, {}],
  ])('fails the line %s with "%s", and says what to do', async (line, said, operation, change) => {
    alter(operation, change);
    const { exitCode, lines } = await doctor('--guarded', '--profile-direct', 'direct');
    const own = lines.find((one) => one.includes(` ${line} `)) ?? '';
    expect(own).toMatch(/^FAILED .*\. \w{2,}/);
    expect(own).toContain(said);
    expect(exitCode).toBe(1);
  });

  it.each([200, 404])('takes the status %i of an unsigned call for no refusal', async (status) => {
    const { url } = await answering((response, request) => {
      const isSigned = request.headers.authorization !== undefined;
      answerWith(isSigned ? 200 : status, world.caller)(response, request);
    });
    const { exitCode, lines } = await doctor('--url', url);
    expect(lines).toContainEqual(
      expect.stringMatching(`^FAILED +unsigned-call +It is answered with ${status}\\. Treat`),
    );
    expect(exitCode).toBe(1);
  });

  it.each<[line: string, said: string, operation: string, change: Change]>([
    ['call', 'no access rule names', '', ['', '']],
    ['drift', 'no right', STATUS, [/COMPLETE(<.DetectionStatus>)/, `FAILED$1${UNREAD}`]],
    ['alarms', 'no data yet for', 'DescribeAlarms', [/1 datapoint [^"]*/, 'Unchecked: Initial alarm creation']],
    ['direct-invoke', 'Its own policies', DIRECT, deniedBy('an explicit deny in a resource-based policy')],
    ['health-run', 'AWS returned no usable answer', HEALTH, refused('ServiceException', 503)],
  ])('does not prove the line %s and says "%s", which is no failure', async (line, said, operation, change) => {
    if (operation === '') world.caller = { ...world.caller, rules: [] };
    else alter(operation, change);
    const { exitCode, lines, stderr } = await doctor('--guarded', '--profile-direct', 'direct');
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^\\? +${line} +.*${said}`)));
    expect(stderr).toMatch(new RegExp(`^Not proven: .*${line}`, 'm'));
    expect(exitCode).toBe(0);
  });

  it('says which role has to run a line that is denied to the operator, and runs it as that one when its profile is named', async () => {
    world.isBlind = true;
    const alone = await doctor();
    expect(alone.lines).toContainEqual(expect.stringMatching(/^\? +drift .*:DetectStackDrift.*lookup role.*deploy\)/));
    expect(alone.lines).toContainEqual(expect.stringMatching(/^\? +health-run .*:InvokeFunction.*--profile-deploy/));
    expect(alone.lines).toContainEqual(expect.stringMatching(/^\? +versions .*lambda:GetAlias.*--profile-emergency/));
    expect(alone.exitCode).toBe(0);
    const all = await doctor('--profile-deploy', 'deploy', '--profile-emergency', 'emergency');
    expect(all.lines.filter((line) => !line.startsWith('ok'))).toEqual([]);
    expect(world.calls).toContainEqual(expect.objectContaining({ operation: 'AssumeRole' }));
  });

  it('answers in JSON', async () => {
    alter(DRIFTS, drifted('MODIFIED', UNPROTECTED));
    const { stdout } = await doctor('--json');
    expect(JSON.parse(stdout)).toMatchObject({ environment: 'dev', ok: false, cause: 'drift' });
  });

  it('says what to do about a call that fails, and about each line that fails beside it', async () => {
    alter(DRIFTS, drifted('MODIFIED', UNPROTECTED));
    const { exitCode, stdout, stderr } = await doctor('--url', '');
    expect(stderr).toMatch(/\nurl-missing: Give --url, .*\n$/);
    expect(stdout).toMatch(/^FAILED {2}drift .*\. Deploy/m);
    expect(exitCode).toBe(1);
  });

  it('does not prove direct-invoke without a profile that has credentials', async () => {
    for (const args of [[], ['--profile-direct', 'nobody']]) {
      const { exitCode, lines } = await doctor('--guarded', ...args);
      expect(lines).toContainEqual(
        expect.stringMatching(/^\? +direct-invoke +(?:--profile-direct|No usable .* nobody)/),
      );
      expect(exitCode).toBe(0);
    }
  });

  it('ends at once on Ctrl-C', async () => {
    const { interrupt, finished } = beginCommandLine(world.command, world.env);
    world.results.set(STATUS, () => {
      interrupt();
      return '<DetectionStatus>DETECTION_IN_PROGRESS</DetectionStatus>';
    });
    expect(await finished).toMatchObject({ exitCode: 130 });
  });

  it.each<[what: string, change: Change, said: string]>([
    ['the stack came to no outputs', [/<Outputs>.*<\/Outputs>/s, ''], 'error: stack-incomplete: '],
    ['AWS does not say', refused('AccessDenied', 403), 'cloudformation:DescribeStacks'],
    [
      'there is no stack',
      refused('ValidationError'),
      'error: aws-not-found: AWS has no stack TokenBroker-dev in eu-west-1\nIs it deployed',
    ],
  ])('ends with 1 when %s', async (_, change, said) => {
    alter('DescribeStacks', change);
    expect(await doctor()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(said) });
  });
});

type Change = [from: string | RegExp, to: string] | AwsResult;

function alter(operation: string, change: Change): void {
  const usual = RESULTS[operation]?.() ?? '';
  const changed = (how: [string | RegExp, string]) =>
    typeof usual === 'string' ? usual.replace(...how) : JSON.parse(JSON.stringify(usual).replace(...how));
  const result = Array.isArray(change) ? changed(change) : change;
  world.results.set(operation, () => result);
}

/** A file of AWS profiles with these names, each with a key of its own. */
function profiles(...names: readonly string[]): string {
  const file = path.join(temporaryFolder(), 'credentials');
  const keys = (name: string) => `[${name}]\naws_access_key_id=AKID${name.toUpperCase()}\naws_secret_access_key=x\n`;
  writeFileSync(file, names.map(keys).join(''));
  return file;
}
