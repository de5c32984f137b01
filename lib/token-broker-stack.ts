import { Annotations, CfnOutput, Stack, Tags } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { rulesDigest } from '../functions/variables.ts';
import { ClientSecrets } from './data/client-secrets.ts';
import { PairTable } from './data/pair-table.ts';
import { CredentialHealth } from './health/credential-health.ts';
import { FailedEvents } from './health/failed-events.ts';
import { Monitoring } from './monitoring/monitoring.ts';
import { OperatorTopic } from './monitoring/operator-topic.ts';
import { Trail } from './monitoring/trail.ts';
import { listAccess, parseRoleArn } from './settings/access-rules.ts';
import { endOfCertificates } from './settings/certificates.ts';
import type { Environment } from './settings/settings.ts';
import { TokenEndpoint } from './token/token-endpoint.ts';

/** One environment of the token broker. */
export class TokenBrokerStack extends Stack {
  constructor(scope: Construct, id: string, { environment }: { readonly environment: Environment }) {
    super(scope, id, {
      env: { account: environment.account, region: environment.region },
      description: `Token broker, environment ${environment.name}`,
      // Every caller uses the URL of the function, and a deleted URL cannot be recovered.
      terminationProtection: true,
    });
    // cfn-lint does not know tags on dashboards yet and reports them as a mistake.
    const untagged = { excludeResourceTypes: ['AWS::CloudWatch::Dashboard'] };
    Tags.of(this).add('application', 'token-broker', untagged);
    Tags.of(this).add('environment', environment.name, untagged);
    for (const [tag, value] of Object.entries(environment.tags)) Tags.of(this).add(tag, value, untagged);

    // Makes changed rules visible in `cdk diff` and `npm run diff`. The code asset shows only another hash.
    this.templateOptions.metadata = {
      AccessRules: rulesDigest(environment),
      Services: Object.keys(environment.services).join(' '),
      ...listAccess(environment.accessRules),
    };

    warnOfOwnCallers(this, environment);
    const { name, keyArn, health } = environment;
    if (environment.canary !== 'off' && health.notify.length === 0) {
      Annotations.of(this).addWarningV2(
        'token-broker:no-subscriber',
        'The alarms of this environment reach no operator before a subscriber of the topic confirms: an address in health.notify, or a chat or a pager that subscribes on its own.',
      );
    }
    warnOfCertificates(this, environment);
    warnOfSecretValues(this, environment);
    const secrets = new ClientSecrets(this, 'ClientSecrets', { environment: name, keyArn });
    const { key } = secrets;
    const operators = new OperatorTopic(this, 'OperatorTopic', { environment: name, key, notify: health.notify });
    const failedEvents = new FailedEvents(this, 'FailedEvents', { key });

    const pairs = new PairTable(this, 'PairTable', { environment: name, key });
    const { tableName } = pairs;
    const endpoint = new TokenEndpoint(this, 'TokenEndpoint', { environment, tableName, secrets });
    secrets.allowReading(endpoint.role);
    pairs.allowSharing(endpoint.role);

    const parts = { secrets, pairs, endpoint, operators, failedEvents };
    const checks = new CredentialHealth(this, 'CredentialHealth', { environment, ...parts });
    const monitoring = new Monitoring(this, 'Monitoring', {
      environment,
      called: endpoint.called,
      failedEvents: failedEvents.queue,
      operators,
    });
    if (environment.trail !== 'off') new Trail(monitoring, 'Trail', { environment, key, operators });
    pairs.createAfter(failedEvents, operators, endpoint, checks, monitoring);

    const outputs = {
      Url: [endpoint.url, 'Where callers send their requests'],
      TableName: [tableName, 'Holds the state of every pair'],
      KeyArn: [key.keyArn, 'Encrypts the client secrets'],
      TopicArn: [operators.topic.topicArn, 'Tells the operators what to act on'],
      DashboardUrl: [monitoring.dashboardUrl, 'Shows the operators how the broker is'],
    } as const;
    for (const [name, [value, description]] of Object.entries(outputs))
      new CfnOutput(this, name, { value, description });
  }
}

/** Warns of callers in the broker's account. Such a role may bypass the URL and with it the access rules. */
function warnOfOwnCallers(stack: Stack, { account, accessRules, canary, trail, guarded }: Environment): void {
  const own = accessRules.filter(
    ({ role, operations }) => operations.includes('token') && parseRoleArn(role)?.account === account,
  );
  // An environment with neither canary nor trail is for experiments.
  if (own.length === 0 || guarded || (canary === 'off' && trail === 'off')) return;
  Annotations.of(stack).addWarningV2(
    'token-broker:caller-in-own-account',
    `Roles of the broker's own account are callers: ${[...new Set(own.map(({ role }) => role))].join(', ')}. A role of this ` +
      'account that may invoke the function itself can claim to be any caller. Move the callers to another account, or ' +
      'attach the guard (docs/deploy.md, "Guard the function") and set guarded: true.',
  );
}

/** Warns of values that may be secret. The settings are part of the code asset, and `config` shows them. */
function warnOfSecretValues(stack: Stack, { services }: Environment): void {
  for (const [service, { headers, parameters, tokenPath }] of Object.entries(services)) {
    const inQuery = new URL(tokenPath, 'https://service.example.com').searchParams.keys();
    const names = [...Object.keys(headers), ...Object.keys(parameters), ...inQuery];
    for (const name of names.filter((each) => /key|token|secret/i.test(each))) {
      const what = Object.hasOwn(headers, name) ? 'header' : 'parameter';
      const advice = `If its value is secret, name a header in clientHeaders, and store the value in each client's secret.`;
      const text = `The settings of ${service} contain the ${what} ${name}, which config and the code asset show. ${advice}`;
      Annotations.of(stack).addWarningV2(`token-broker:secret-value:${service}:${name}`, text);
    }
  }
}

/** Warns of certificates that expire soon. Without a valid authority, a service cannot be reached. */
function warnOfCertificates(stack: Stack, { services, folder }: Environment): void {
  for (const [name, { certificateAuthorities }] of Object.entries(services)) {
    for (const file of certificateAuthorities) {
      const end = endOfCertificates(folder, file);
      if (end.getTime() - Date.now() > YEAR_MS) continue;
      const day = end.toISOString().slice(0, 10);
      const advice = 'Add its successor to the list before that day: the broker trusts both.';
      const text = `A certificate in ${file}, which verifies ${name}, expires on ${day}. ${advice}`;
      Annotations.of(stack).addWarningV2(`token-broker:certificate-ends:${file}`, text);
    }
  }
}

const YEAR_MS = 365 * 86_400_000;
