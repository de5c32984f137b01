import { z } from 'zod';
import type { BrokerSettings } from '../../functions/environment.ts';
import { accessRuleFaults, accessRuleSchema, callerAccountFaults } from './access-rules.ts';
import { alarmSchema } from './alarm-schema.ts';
import { healthSchema, rateSeconds } from './health.ts';
import { check, type Fault, listOf, nameFault, recordOf, SettingsError, text } from './schema.ts';
import { serviceSchema } from './service.ts';

/** How an environment is deployed, how much of it runs, and what it keeps. Every default of these stands here. */
export function operationMembers() {
  return {
    // Which part of the calls a new version gets at first, and for how long; 'off': all of them at once.
    canary: z
      .union([z.literal('off'), canarySchema], { error: "must be 'off' or an object with percent and minutes" })
      .prefault({}),
    // How many calls of the token function may run at a time, × 10 requests a second; 0 turns the broker off.
    reservedConcurrency: z
      .union([z.literal('none'), concurrency], { error: `must be 'none' or a whole number, 0 to ${MAX_CONCURRENCY}` })
      .default('none'),
    // How many instances of the token function stand ready, paid for while they wait.
    provisionedConcurrency: concurrency.default(0),
    // How long the lines are kept that say who asked for what.
    logRetentionDays: z.literal(LOG_RETENTION_DAYS).default(365),
    // Whether Lambda writes a trace of each call to X-Ray.
    tracing: z.boolean().default(false),
    // Where the token function runs, when a service knows its callers by their addresses.
    vpc: vpcSchema.optional(),
    // The key that an earlier stack of this environment left behind; without it a new one is made.
    keyArn: text(keyArnFault).optional(),
  };
}

export type Vpc = z.output<typeof vpcSchema>;

/** What is wrong between these settings, and with the account and the region beside them. */
export function operationFaults(settings: unknown): Fault[] {
  const { account, region, keyArn, reservedConcurrency, provisionedConcurrency } = readable.parse(settings);
  const { account: keyAccount = account, region: keyRegion = region } = KEY_ARN.exec(keyArn)?.groups ?? {};
  return [
    provisionedConcurrency > reservedConcurrency && {
      path: ['provisionedConcurrency'],
      reason: 'must not be more than reservedConcurrency',
    },
    keyAccount !== account && { path: ['keyArn'], reason: 'belongs to another account than the environment' },
    keyRegion !== region && { path: ['keyArn'], reason: 'is in another region than the environment' },
  ].filter((fault) => fault !== false);
}

const canarySchema = z.strictObject({
  percent: z.int().min(1).max(99).default(10),
  minutes: z.int().min(1).max(60).default(5),
});

const MAX_CONCURRENCY = 10_000;
const concurrency = z.int().min(0).max(MAX_CONCURRENCY);

const notEmpty = { error: 'must not be empty' };

const vpcSchema = z.strictObject({
  // The quota of a network interface is five groups, that of a function 16 subnets.
  subnetIds: listOf(text(idFault('subnet')))
    .min(1, notEmpty)
    .max(16),
  securityGroupIds: listOf(text(idFault('sg')))
    .min(1, notEmpty)
    .max(5),
});

function idFault(prefix: string): (id: string) => string | undefined {
  return (id) =>
    new RegExp(`^${prefix}-(?:[0-9a-f]{8}|[0-9a-f]{17})$`).test(id)
      ? undefined
      : `must be an id such as ${prefix}-0123456789abcdef0`;
}

function keyArnFault(arn: string): string | undefined {
  if (/:alias\//.test(arn)) return 'must name the key itself, not an alias of it';
  return KEY_ARN.test(arn) ? undefined : 'must be the ARN of a KMS key: arn:aws:kms:<region>:<account>:key/<id>';
}

const KEY_ARN =
  /^arn:(?:aws|aws-cn|aws-us-gov):kms:(?<region>[a-z0-9-]+):(?<account>\d{12}):key\/(?:mrk-[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** What can be read of settings of which nothing is known. */
const unreadable = { account: '', region: '', keyArn: '', reservedConcurrency: Number.NaN, provisionedConcurrency: 0 };
const readable = z
  .object({
    account: z.string().catch(unreadable.account),
    region: z.string().catch(unreadable.region),
    keyArn: z.string().catch(unreadable.keyArn),
    reservedConcurrency: z.number().min(0).catch(unreadable.reservedConcurrency),
    provisionedConcurrency: z.number().catch(unreadable.provisionedConcurrency),
  })
  .catch(unreadable);

/** What CloudWatch Logs knows; a test compares it with the CDK's list. */
const LOG_RETENTION_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
] as const;

/** The settings of one environment, checked and with every default filled in. */
export interface Environment extends z.output<typeof environmentSchema> {
  readonly name: string;
}

/** What an operator writes for one environment; whatever has a default may be left out. */
export type EnvironmentForm = z.input<typeof environmentSchema>;

/** Reads the settings of one environment; throws a `SettingsError` that names every wrong place. */
export function parseEnvironment(name: string, input: unknown): Environment {
  const { environment, faults } = readEnvironment(name, input);
  if (environment === undefined) throw new SettingsError(faults);
  return environment;
}

/** Reads the settings of all environments; throws one `SettingsError` for all of them. */
export function parseEnvironments(inputs: Readonly<Record<string, unknown>>): readonly Environment[] {
  const readings = Object.entries(inputs).map(([name, input]) => readEnvironment(name, input));
  const faults = readings.flatMap((reading) => reading.faults);
  if (faults.length > 0) throw new SettingsError(faults);
  return readings.flatMap(({ environment }) => environment ?? []);
}

/** The part of an environment that runs. */
export function toBrokerSettings({ services, accessRules, health }: BrokerMembers): BrokerSettings {
  // A token that is older than the time between two checks has proven nothing since the last one.
  return { services, accessRules, provenForSeconds: rateSeconds(health.every) };
}

type BrokerMembers = z.output<z.ZodObject<ReturnType<typeof brokerMembers>>>;

/** The members that an environment and a local configuration have in common. */
export function brokerMembers(options: { readonly allowLoopback: boolean }) {
  return {
    services: recordOf(nameFault, serviceSchema(options)).refine((services) => Object.keys(services).length > 0, {
      error: 'must have at least one service',
    }),
    accessRules: z.array(accessRuleSchema),
    health: healthSchema.prefault({}),
  };
}

/** The number of an AWS account. A string, because numbers lose their leading zeros. */
export const accountSchema = text((id) => (/^\d{12}$/.test(id) ? undefined : 'must be 12 digits in quotes'));

/** The name of an AWS region. */
export const regionSchema = text((name) =>
  /^[a-z]{2}(-[a-z]+){1,2}-\d{1,2}$/.test(name) ? undefined : 'must be an AWS region such as eu-west-1',
);

/** Everything that an environment can have; `parseEnvironment` also checks how it fits together. */
export const environmentSchema = z.strictObject({
  account: accountSchema,
  region: regionSchema,
  ...brokerMembers({ allowLoopback: false }),
  alarms: alarmSchema.prefault({}),
  ...operationMembers(),
  // The accounts, beside its own, whose credentials may deploy the environment.
  deployFrom: listOf(accountSchema).default([]),
});

function readEnvironment(name: string, input: unknown): Reading {
  const { data, faults } = check(environmentSchema, input);
  const all = [
    ...environmentNameFaults(name),
    ...faults,
    ...accessRuleFaults(input),
    ...operationFaults(input),
    ...(data === undefined ? [] : callerAccountFaults({ name, ...data })),
  ];
  return all.length === 0 && data !== undefined
    ? { environment: { name, ...data }, faults: [] }
    : {
        environment: undefined,
        faults: all.map((fault) => ({ ...fault, path: ['environments', name, ...fault.path] })),
      };
}

interface Reading {
  readonly environment: Environment | undefined;
  readonly faults: readonly Fault[];
}

/** The name becomes part of the names of secrets, the functions and the stack. */
function environmentNameFaults(name: string): Fault[] {
  const reason = environmentNameFault(name);
  return reason === undefined ? [] : [{ path: [], reason }];
}

function environmentNameFault(name: string): string | undefined {
  if (name.length > 20 || !/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
    return 'must be called by at most 20 lower-case letters, digits and hyphens, starting with a letter';
  }
  // Its token function would have the name that another environment's health function has.
  return name.startsWith('health-') ? 'must not be called health-…' : undefined;
}
