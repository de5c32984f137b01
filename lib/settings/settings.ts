import { z } from 'zod';
import type { BrokerSettings } from '../../functions/variables.ts';
import { roleArnFault } from '../../functions/vocabulary.ts';
import { ALARM_NAMES, RENAMED_ALARMS } from '../monitoring/alarms.ts';
import { accessRuleFaults, accessRuleSchema, callerAccounts, listAccess, MAX_CALLER_ACCOUNTS } from './access-rules.ts';
import { readCertificates } from './certificates.ts';
import { regionFault } from './regions.ts';
import { check, type Fault, like, listOf, nameFault, recordOf, SettingsError, text } from './schema.ts';
import { type SettingsPlace, serviceSchema } from './service.ts';

/** The settings of an environment, checked and with every default filled in. */
export interface Environment extends z.output<ReturnType<typeof environmentSchema>> {
  readonly name: string;
  /** The folder of the certificate files. */
  readonly folder: string;
}

/** The settings of an environment as an operator writes them. Members with a default are optional. */
export type EnvironmentForm = z.input<ReturnType<typeof environmentSchema>>;

/** The default of `credentialMaxAgeDays`. */
export const CREDENTIAL_MAX_AGE_DAYS = 365;

/** The schema of an environment. `parseEnvironment` also finds contradictions between its settings. */
export function environmentSchema(folder: string) {
  return z.strictObject({ ...place, ...brokerMembers({ allowLoopback: false, folder }), ...further });
}

const place = {
  // A string, because a number would lose leading zeros.
  account: like(/^\d{12}$/, 'must be 12 digits in quotes'),
  region: text(regionFault),
};

const concurrency = z.int().min(0).max(10_000);

/** A list of at most three roles, the limit of a filter of CloudWatch Logs. */
const fewRoles = listOf(text(roleArnFault)).max(3).default([]);

/** Matches the ARN of a key, not of an alias. */
const KEY_ARN =
  /^arn:aws(?:-[a-z]+)*:kms:[a-z0-9-]+:\d{12}:key\/(?:mrk-[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** A stream or a function would need a role or a permission of its own. A destination brings its policy. */
const LOG_DESTINATION = /^arn:aws(?:-[a-z]+)*:logs:[a-z0-9-]+:\d{12}:destination:[^:*]{1,512}$/;
const LOG_DESTINATION_REASON =
  'must be the ARN of a destination of CloudWatch Logs: arn:aws:logs:<region>:<account>:destination:<name>';

/** The usual form, without quotes, comments and address literals. */
const EMAIL = /^(?=.{1,254}$)[\w.!#$%&'*+/=?^`{|}~-]{1,64}@([A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,63}$/;

const further = {
  // The AWS organization to which every caller's account must belong, in addition to an access rule.
  principalOrgId: like(/^o-[a-z0-9]{10,32}$/, 'must be the id of an AWS organization: o-…').optional(),
  // The roles that reach the URL: of the accounts in the rules, or of `principalOrgId`. The rules decide either way.
  callers: z.enum(['accounts', 'organization']).default('accounts'),
  // The alarms not to create.
  alarms: z.strictObject({ off: listOf(z.enum(ALARM_NAMES, { error: renamed })).default([]) }).prefault({}),
  // The share of calls that a new version gets first, and for how long. 'off' sends all calls at once.
  canary: z
    .union(
      [
        z.literal('off'),
        z.strictObject({ percent: z.int().min(1).max(99).default(10), minutes: z.int().min(1).max(60).default(5) }),
      ],
      { error: "must be 'off' or an object with percent and minutes" },
    )
    .prefault({}),
  // The limit of concurrent calls, each with up to 10 requests per second. 0 turns the broker off.
  reservedConcurrency: z
    .union([z.literal('none'), concurrency], { error: "must be 'none' or a whole number, 0 to 10000" })
    .default('none'),
  // The concurrency reserved for health, for checks of changed secrets. 'none' reserves and limits nothing.
  healthConcurrency: z
    .union([z.literal('none'), z.int().min(2).max(100)], { error: "must be 'none' or a whole number, 2 to 100" })
    .default('none'),
  // The number of instances that are kept ready, which cost money while they wait.
  provisionedConcurrency: concurrency.default(0),
  // The age from which the commands report a credential as old.
  credentialMaxAgeDays: z.int().min(1).max(3_650).default(CREDENTIAL_MAX_AGE_DAYS),
  // The retention of audit lines, a period that CloudWatch Logs supports.
  logRetentionDays: z
    .literal([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653])
    .default(365),
  // The service level: the percentage of calls for a token that bring it within a time. Misses count, and ring.
  slo: z.strictObject({ answered: z.number().min(95).max(99.99), withinMs: z.int().min(10).max(15_000) }).optional(),
  // Whether Lambda writes a trace of each call to X-Ray.
  tracing: z.boolean().default(false),
  // Whether CloudTrail records invocations, changes and reads. The roles may write the sealing key, or the policies of
  // the clients' secrets, without an alarm.
  trail: z
    .union([z.literal('off'), z.strictObject({ sealingKeyWriters: fewRoles, secretPolicyWriters: fewRoles })], {
      error: "must be 'off' or an object with sealingKeyWriters and secretPolicyWriters",
    })
    .default('off'),
  // Whether the guard denies direct invocations. Without it, roles of the broker's account should not be callers.
  guarded: z.boolean().default(false),
  // The destination of CloudWatch Logs that gets every line of the token function, such as that of a SIEM.
  logDestinationArn: like(LOG_DESTINATION, LOG_DESTINATION_REASON).optional(),
  // The network of the token function, for a service that identifies its callers by address.
  vpc: z
    .strictObject({
      // Lambda accepts at most 16 subnets, and a network interface at most five groups.
      subnetIds: idsOf('subnet').max(16),
      securityGroupIds: idsOf('sg').max(5),
      // Whether the other functions move there too, which call no service.
      all: z.boolean().default(false),
    })
    .optional(),
  // More tags on every resource and new secret, such as a cost centre. The two tags of the stack cannot be overridden.
  tags: recordOf(tagFault, text(tagValueFault)).default({}),
  // The key that an earlier stack of this environment left behind. By default, the stack creates a key.
  keyArn: like(KEY_ARN, 'must be the ARN of a KMS key: arn:aws:kms:<region>:<account>:key/<id>').optional(),
};

/** Parses the settings of an environment whose files are in the folder. A `SettingsError` lists every fault. */
export function parseEnvironment(name: string, input: unknown, folder = '.'): Environment {
  const { environment, faults } = readEnvironment(name, input, folder);
  if (environment === undefined) throw new SettingsError(faults);
  return environment;
}

/** Parses the settings of all environments. Throws a single `SettingsError` for all of them. */
export function parseEnvironments(inputs: Readonly<Record<string, unknown>>, folder = '.'): readonly Environment[] {
  const readings = Object.entries(inputs).map(([name, input]) => readEnvironment(name, input, folder));
  const faults = readings.flatMap((reading) => reading.faults);
  if (faults.length > 0) throw new SettingsError(faults);
  return readings.flatMap(({ environment }) => environment ?? []);
}

/** The members that environments and local configurations share. */
export function brokerMembers(options: SettingsPlace) {
  return {
    services: recordOf(nameFault, serviceSchema(options)).refine((services) => Object.keys(services).length > 0, {
      error: 'must have at least one service',
    }),
    accessRules: z.array(accessRuleSchema),
    // The interval of credential checks, and the e-mail addresses to notify of a credential that stops working.
    health: z
      .strictObject({
        every: text(rateFault).default('rate(1 hour)'),
        notify: listOf(like(EMAIL, 'must be an e-mail address such as ops@example.com')).default([]),
      })
      .prefault({}),
  };
}

/** Returns the settings that the token function reads, with the content of the certificate files. */
export function toBrokerSettings(members: BrokerMembers): BrokerSettings {
  const { accessRules, principalOrgId, health, slo, folder } = members;
  const services = Object.entries(members.services).map(([name, service]) => {
    const { certificateAuthorities: files, clientHeaders, rejectedOn, ...rest } = service;
    // A setting that is not set must not change the digest of a service, which is a part of the keys of holds.
    const lists = { certificateAuthorities: readCertificates(folder, files), clientHeaders, rejectedOn };
    const written = Object.entries(lists).filter(([, list]) => list.length > 0);
    return [name, { ...rest, ...Object.fromEntries(written) }];
  });
  // A token older than the interval of the checks proves nothing since the last check.
  const organization = principalOrgId === undefined ? {} : { principalOrgId };
  return {
    services: Object.fromEntries(services),
    accessRules,
    ...organization,
    provenForSeconds: rateSeconds(health.every),
    ...(slo && { sloWithinMs: slo.withinMs }),
  };
}

type BrokerMembers = z.output<z.ZodObject<ReturnType<typeof brokerMembers>>> &
  Pick<BrokerSettings, 'principalOrgId'> & {
    readonly folder: string;
    readonly slo?: { readonly withinMs: number } | undefined;
  };

/** Returns all faults, and the environment if there is no fault. */
function readEnvironment(name: string, input: unknown, folder: string) {
  const { data, faults } = check(environmentSchema(folder), input);
  const all = [
    ...nameFaults(name),
    ...faults,
    ...accessRuleFaults(input),
    ...(data === undefined ? [] : faultsBetween(data)),
  ].map((fault) => ({ ...fault, path: ['environments', name, ...fault.path] }));
  const environment: Environment | undefined =
    all.length > 0 || data === undefined ? undefined : { name, folder, ...data };
  return { environment, faults: all };
}

/** Checks the name of an environment, which is a part of the names of secrets, functions and the stack. */
function nameFaults(name: string): readonly Fault[] {
  if (name.length > 20 || !/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
    const reason = 'must have a name of at most 20 lower-case letters, digits and hyphens that starts with a letter';
    return [{ path: [], reason }];
  }
  // The commands use `local` for this machine. The other names would lead to two functions of the same name.
  const reason = 'must not be named local, health-… or release-check-…';
  return /^(local$|health-|release-check-)/.test(name) ? [{ path: [], reason }] : [];
}

/** Returns the contradictions between settings that are valid on their own. */
function faultsBetween(settings: Omit<Environment, 'name' | 'folder'>): readonly Fault[] {
  const { account, region, keyArn, logDestinationArn, reservedConcurrency, provisionedConcurrency, tags } = settings;
  const names = Object.entries(settings.services).map(([name, own]) => (own.singleActiveToken ? name + name : name));
  const named = names.join(' ').length;
  const accounts = callerAccounts(settings.accessRules).length;
  // As the CDK indents it in the template.
  const listing = JSON.stringify({ Metadata: listAccess(settings.accessRules) }, undefined, 1);
  const listed = Math.ceil(listing.length / 1_000);
  const hasTwins = new Set(Object.keys(tags).map((tag) => tag.toLowerCase())).size < Object.keys(tags).length;
  const known: readonly (readonly [member: keyof typeof settings, isWrong: boolean, reason: string])[] = [
    [
      'accessRules',
      settings.callers === 'accounts' && accounts > MAX_CALLER_ACCOUNTS,
      `name ${accounts} accounts, more than the ${MAX_CALLER_ACCOUNTS} that fit into the policy of the function: callers: 'organization' has no such limit`,
    ],
    [
      'accessRules',
      listed > MAX_LISTED_KILOBYTES,
      `list ${listed} kB of clients, and the template of CloudFormation has room for ${MAX_LISTED_KILOBYTES}: name fewer clients in a rule, or 'all'`,
    ],
    ['services', named > 3_300, `have ${named} characters in their names, and 3300 fit into variables of a function`],
    [
      'callers',
      settings.callers === 'organization' && settings.principalOrgId === undefined,
      "must be 'accounts' without principalOrgId, which identifies the organization",
    ],
    [
      'provisionedConcurrency',
      reservedConcurrency !== 'none' && provisionedConcurrency > reservedConcurrency,
      'must not be more than reservedConcurrency',
    ],
    [
      'keyArn',
      keyArn?.includes(`:${region}:${account}:`) === false,
      'must be in the account and the region of the environment: AWS does not say that DynamoDB and CloudWatch Logs take a key of another account',
    ],
    [
      'logDestinationArn',
      logDestinationArn?.includes(`:${region}:`) === false,
      'must be in the region of the environment, as its log is',
    ],
    ['tags', Object.keys(tags).length > 40, 'must be at most 40: a secret needs ten of its 50'],
    ['tags', hasTwins, 'must not have names that differ only by case: IAM treats them as the same name'],
  ];
  return known.flatMap(([member, isWrong, reason]) => (isWrong ? [{ path: [member], reason }] : []));
}

/** Returns the present name of an alarm of an earlier version, for an operator who switched it off. */
function renamed({ input }: { readonly input?: unknown }): string | undefined {
  const name = RENAMED_ALARMS.get(input);
  return name && `is now called '${name}': write that name`;
}

/** CloudFormation accepts 1 000 kB. The resources take 150, and 100 are left for what follows. */
const MAX_LISTED_KILOBYTES = 750;

function idsOf(prefix: string) {
  const id = new RegExp(`^${prefix}-(?:[0-9a-f]{8}|[0-9a-f]{17})$`);
  return listOf(like(id, `must be an id such as ${prefix}-0123456789abcdef0`)).min(1, { error: 'must not be empty' });
}

function tagFault(name: string): string | undefined {
  // IAM ignores the case of tag names.
  if (/^(application|environment)$/i.test(name)) return 'is a tag that the stack sets itself (case is ignored)';
  return name === '' ? 'must have a name' : tagValueFault(name);
}

/** Allows the values that every service of AWS accepts. */
function tagValueFault(text: string): string | undefined {
  if (/^aws:/i.test(text)) return 'must not begin with aws:';
  if (/^[\w.:/=+@ -]{0,128}$/.test(text)) return undefined;
  return 'must be at most 128 of: letters, digits, space, _ . : / = + - @';
}

/** Returns the seconds of a rate such as `rate(1 hour)`, or `NaN`. */
export function rateSeconds(rate: string): number {
  const { count, unit = '' } = RATE.exec(rate)?.groups ?? {};
  return Number(count) * (UNIT_SECONDS[unit] ?? Number.NaN);
}

/** @see https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#rate-based (Node 22: no name twice) */
const RATE = /^rate\((?=1 \w+[^s]\)|(?!1 ).+s\))(?<count>[1-9]\d{0,3}) (?<unit>minute|hour|day)s?\)$/;

const UNIT_SECONDS: Readonly<Record<string, number>> = { minute: 60, hour: 3_600, day: 86_400 };

function rateFault(rate: string): string | undefined {
  const seconds = rateSeconds(rate);
  if (Number.isNaN(seconds)) return 'must be a rate such as rate(1 hour) or rate(30 minutes)';
  return seconds >= MIN_SECONDS && seconds <= MAX_SECONDS
    ? undefined
    : 'must be between rate(15 minutes) and rate(1 day)';
}

/** Keeps runs, of up to twelve minutes, from overlapping. */
const MIN_SECONDS = 900;
/** Limits the intervals that an alarm on silence evaluates to the week that CloudWatch allows. */
const MAX_SECONDS = 86_400;
