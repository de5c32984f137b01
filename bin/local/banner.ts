import type { LocalCaller } from '../../lib/local-config.ts';
import type { ExampleCall, LocalBroker } from './broker.ts';
import { exampleCall, LOCAL_ENVIRONMENT } from './broker.ts';
import { quote } from './shell-quote.ts';

/** What `npm start` says when it is ready: where, and commands to copy and paste. */
export function greeting(broker: LocalBroker, pageUrl: string): string {
  const { url, config, tokenServiceUrl } = broker;
  const lines = [`token broker ready on ${url}`, `watch and try it on ${pageUrl}`, '', ...callerLines({ config })];
  if (tokenServiceUrl !== undefined) lines.push('', `The services' stand-in is ${tokenServiceUrl}`);
  const call = exampleCall(config);
  lines.push('', ...(call ? commandLines(broker, call) : ['No access rule names a caller, so nobody gets a token.']));
  return [...lines, '', 'Ctrl-C ends it.', ''].join('\n');
}

function commandLines({ url, config, controlUrl }: LocalBroker, { caller, client, service }: ExampleCall): string[] {
  const operator = config.accessRules.find(({ operations }) => operations.includes('check'));
  const operatorKey = config.callers.find(({ role }) => role === operator?.role);
  const variables = {
    AWS_ENDPOINT_URL_SECRETS_MANAGER: process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER,
    AWS_ENDPOINT_URL_DYNAMODB: process.env.AWS_ENDPOINT_URL_DYNAMODB,
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
    ...(operatorKey ? operatorLines(operatorKey, client) : []),
  ];
}

/** Checks need a role with the operation `check`. */
function operatorLines({ role, accessKeyId, secretAccessKey }: LocalCaller, client: string): string[] {
  return [
    '',
    `Then look after the clients as ${roleName(role)}:`,
    `  ${exportLine({ AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey })}`,
    `  npm run --silent token-broker -- client check ${client}`,
    '  npm run --silent token-broker -- health --run',
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
    return `  ${roleName(role).padEnd(12)} may act for ${may === '' ? 'nobody' : may}`;
  });
}

function roleName(role: string): string {
  return role.slice(role.lastIndexOf('/') + 1);
}
