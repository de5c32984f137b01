import type { LocalCaller, LocalConfig } from '../../lib/settings/local-config.ts';
import { LOCAL_ENVIRONMENT, type LocalBroker } from './broker.ts';

/** What `npm start` says when it is ready: where, and commands to copy and paste. */
export function greeting(broker: LocalBroker, pageUrl: string): string {
  const { url, config, tokenServiceUrl } = broker;
  const lines = [`token broker ready on ${url}`, `watch and try it on ${pageUrl}`, '', ...callerLines({ config })];
  if (tokenServiceUrl !== undefined) lines.push('', `The services' stand-in is ${tokenServiceUrl}`);
  const call = exampleCall(config);
  lines.push(
    '',
    ...(call ? commandLines(broker, call) : ['No access rule names a caller, so no caller gets a token.']),
  );
  return [...lines, '', 'Ctrl-C ends it.', ''].join('\n');
}

function commandLines(broker: LocalBroker, { caller, client, service }: ExampleCall): string[] {
  const { url, config, controlUrl } = broker;
  const variables = {
    AWS_ENDPOINT_URL_SECRETS_MANAGER: process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER,
    AWS_ENDPOINT_URL_DYNAMODB: process.env.AWS_ENDPOINT_URL_DYNAMODB,
    AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: process.env.AWS_ENDPOINT_URL_CLOUDWATCH_LOGS,
    TOKEN_BROKER_CONTROL_URL: controlUrl,
    TOKEN_BROKER_URL: url,
    TOKEN_BROKER_ENVIRONMENT: LOCAL_ENVIRONMENT,
    TOKEN_BROKER_SERVICES: Object.keys(config.services).join(' '),
    AWS_REGION: process.env.AWS_REGION,
    // The name that the AWS CLI and Python's SDK know.
    AWS_DEFAULT_REGION: process.env.AWS_REGION,
    AWS_ACCESS_KEY_ID: caller.accessKeyId,
    AWS_SECRET_ACCESS_KEY: caller.secretAccessKey,
  };
  return [
    `Ask for a token as ${roleName(caller.role)}:`,
    `  curl --aws-sigv4 aws:amz:us-east-1:lambda --user ${quote(`${caller.accessKeyId}:${caller.secretAccessKey}`)} -H 'content-type: application/json' -d ${quote(JSON.stringify({ client, service }))} ${url}/token`,
    '',
    'Or in another terminal with the command line, the AWS CLI or an SDK:',
    // Left over from another sign-in, these would spoil the keys.
    '  unset AWS_PROFILE AWS_SESSION_TOKEN',
    `  ${exportLine(variables)}`,
    `  npm run --silent token-broker -- token --client ${client} --service ${service}`,
    ...operatorLines(broker, client),
  ];
}

/** Secrets are read, and clients checked, with a role that has the operation `check`; without one the broker's key reads. */
function operatorLines({ config, brokerKey }: LocalBroker, client: string): string[] {
  const operator = config.accessRules.find(({ operations }) => operations.includes('check'));
  const operatorKey = config.callers.find(({ role }) => role === operator?.role);
  const key = operatorKey ?? brokerKey;
  if (key === undefined) return [];
  const commands = operatorKey ? [`client check ${client}`, 'health --run'] : ['client list'];
  return [
    '',
    `Then look after the clients as ${roleName(key.role)}:`,
    `  ${exportLine({ AWS_ACCESS_KEY_ID: key.accessKeyId, AWS_SECRET_ACCESS_KEY: key.secretAccessKey })}`,
    ...commands.map((command) => `  npm run --silent token-broker -- ${command}`),
  ];
}

function exportLine(variables: Readonly<Record<string, string | undefined>>): string {
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${quote(value ?? '')}`);
  return `export ${settings.join(' ')}`;
}

function callerLines({ config }: Pick<LocalBroker, 'config'>): string[] {
  const names = (list: readonly string[] | 'all') => (list === 'all' ? 'all' : list.join(', '));
  return config.callers.map(({ role }) => {
    const rules = config.accessRules.filter((rule) => rule.role === role);
    const may = rules.map(({ clients, services }) => `${names(clients)} on ${names(services)}`).join('; ');
    return `  ${roleName(role).padEnd(12)} may act for ${may === '' ? 'no client' : may}`;
  });
}

function roleName(role: string): string {
  return role.slice(role.lastIndexOf('/') + 1);
}

/** A caller and a pair that it may ask for, to show in an example; `undefined` when no rule names a caller. */
function exampleCall({ callers, accessRules, services, credentials }: LocalConfig): ExampleCall | undefined {
  for (const caller of callers) {
    const rule = accessRules.find(({ role, operations }) => role === caller.role && operations.includes('token'));
    const client = rule?.clients === 'all' ? Object.keys(credentials)[0] : rule?.clients[0];
    const service = rule?.services === 'all' ? Object.keys(services)[0] : rule?.services[0];
    if (client !== undefined && service !== undefined) return { caller, client, service };
  }
  return undefined;
}

interface ExampleCall {
  readonly caller: LocalCaller;
  readonly client: string;
  readonly service: string;
}

/** One word for a POSIX shell; what needs no quotes gets none. */
export function quote(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** One line of a function's log as a person reads it: outcome, pair, caller, where the token came from, how long it took. */
export function requestLine(line: string): string {
  const { outcome, service, pair, caller, cache, warnings = [], Duration: milliseconds } = JSON.parse(line);
  const origin = cache === 'none' ? 'token request' : cache && `from ${cache}`;
  const duration = milliseconds === undefined ? undefined : `${Math.round(milliseconds)} ms`;
  const words = [outcome, pair ?? service, caller && `for ${caller}`, origin, ...warnings, duration];
  return `${words.filter(Boolean).join('  ')}\n`;
}
