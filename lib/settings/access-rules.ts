import { z } from 'zod';
import { ROLE_ARN, roleArnFault } from '../../functions/contract.ts';
import { ALIAS, functionName } from './names.ts';
import { type Fault, listOf, nameFault, readable, text } from './schema.ts';

const notEmpty = { error: 'must not be empty' };

const namesOrAll = z.union([z.literal('all'), listOf(text(listedNameFault)).min(1, notEmpty)], {
  error: ({ input }) => (input === undefined ? 'is missing' : "must be 'all' or a list of names"),
});

/** Which role may act for which clients on which services. */
export const accessRuleSchema = z.strictObject({
  role: text(roleArnFault),
  // Shuts out a role that was deleted and made again under the same name; `aws iam get-role` shows it as RoleId.
  roleId: text((id) =>
    /^AROA[A-Z0-9]{12,124}$/.test(id) ? undefined : 'must be the unique id of a role: AROA…',
  ).optional(),
  clients: namesOrAll,
  services: namesOrAll,
  operations: listOf(z.enum(['token', 'check']))
    .min(1, notEmpty)
    .default(['token']),
});

function listedNameFault(name: string): string | undefined {
  return name === 'all' ? "must stand alone, not in a list: 'all'" : nameFault(name);
}

/** What is wrong between access rules, and between a rule and the services and region. The schema finds the other faults. */
export function accessRuleFaults(settings: unknown): Fault[] {
  const { region, services, accessRules } = readableSettings.parse(settings);
  const rules = accessRules.map(readRule);
  return [
    ...unknownServices(rules, Object.keys(services)),
    ...repeatedRules(rules),
    ...rolesThatDifferByPath(rules),
    ...foreignPartitions(rules, region),
  ];
}

const readableSettings = readable({
  region: z.string().catch(''),
  services: z.record(z.string(), z.unknown()).catch({}),
  accessRules: z.array(z.unknown()).catch([]),
});

const readableRule = readable({ role: z.string().catch(''), services: z.array(z.unknown()).catch([]) });

interface ReadRule {
  readonly index: number;
  readonly arn: string;
  readonly role: Role | undefined;
  readonly services: readonly unknown[];
  /** `undefined` unless all of it is right. */
  readonly rule: z.output<typeof accessRuleSchema> | undefined;
}

function readRule(input: unknown, index: number): ReadRule {
  const { role: arn, services } = readableRule.parse(input);
  return { index, arn, role: parseRoleArn(arn), services, rule: accessRuleSchema.safeParse(input).data };
}

function unknownServices(rules: readonly ReadRule[], services: readonly string[]): Fault[] {
  if (services.length === 0) return [];
  const known = new Set<unknown>(services);
  const reason = `is not one of the services (${services.join(', ')})`;
  return rules.flatMap(({ index, services: named }) =>
    named.flatMap((service, place) => {
      const isName = typeof service === 'string' && nameFault(service) === undefined;
      return isName && !known.has(service) ? [{ path: at(index, 'services', place), reason }] : [];
    }),
  );
}

function repeatedRules(rules: readonly ReadRule[]): Fault[] {
  return laterOnes(rules, ({ rule }) => rule && ruleKey(rule)).map(({ index, first }) => ({
    path: at(index),
    reason: `says the same as accessRules[${first.index}]`,
  }));
}

function ruleKey({ role, roleId, clients, services, operations }: z.output<typeof accessRuleSchema>): string {
  const lists = [clients, services, operations].map((names) => (names === 'all' ? names : names.toSorted()));
  return JSON.stringify([role, roleId, ...lists]);
}

/** A caller arrives without its role's path, so the broker could not tell two such roles apart. */
function rolesThatDifferByPath(rules: readonly ReadRule[]): Fault[] {
  return laterOnes(rules, ({ role }) => role && JSON.stringify(role))
    .filter(({ arn, first }) => arn !== first.arn)
    .map(({ index, first }) => ({
      path: at(index, 'role'),
      reason: `differs only by its path from the role of accessRules[${first.index}], which the broker cannot see`,
    }));
}

/** A role signs for its own partition only, so a rule for another one would never apply. */
function foreignPartitions(rules: readonly ReadRule[], region: string): Fault[] {
  if (region === '') return [];
  const partition = partitionOf(region);
  return rules
    .filter(({ role }) => role !== undefined && role.partition !== partition)
    .map(({ index }) => ({
      path: at(index, 'role'),
      reason: `must start with arn:${partition}: like the region's own`,
    }));
}

function partitionOf(region: string): string {
  if (region.startsWith('cn-')) return 'aws-cn';
  return region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws';
}

/** The rules that have the key of an earlier one, each with the first that has it; a rule without a key is left out. */
function laterOnes(rules: readonly ReadRule[], keyOf: (rule: ReadRule) => string | undefined) {
  const keyed = rules.filter((rule) => keyOf(rule) !== undefined);
  return [...Map.groupBy(keyed, keyOf).values()].flatMap(([first, ...later]) =>
    first === undefined ? [] : later.map((one) => ({ ...one, first })),
  );
}

function at(index: number, ...path: PropertyKey[]): Fault['path'] {
  return ['accessRules', index, ...path];
}

/** The parts of a role's ARN that a caller arrives with; the path of the role is not among them. */
export interface Role {
  readonly partition: string;
  readonly account: string;
  readonly name: string;
}

/** Reads `arn:aws:iam::<account>:role/<path/><name>`; `undefined` for anything else, see `roleArnFault`. */
export function parseRoleArn(arn: string): Role | undefined {
  const [, partition, account, name] = ROLE_ARN.exec(arn) ?? [];
  if (partition === undefined || account === undefined || name === undefined) return undefined;
  return { partition, account, name };
}

interface Rules {
  readonly accessRules: readonly { readonly role: string }[];
}

/** The accounts whose roles the access rules name, each once. */
export function callerAccounts({ accessRules }: Rules): readonly string[] {
  const accounts = accessRules.map(({ role }) => parseRoleArn(role)?.account ?? '');
  return [...new Set(accounts)].toSorted();
}

interface Place extends Rules {
  readonly name: string;
  readonly account: string;
  readonly region: string;
}

/** What is wrong when rules name more accounts than the policy of the alias can let in. */
export function callerAccountFaults(place: Place): readonly Fault[] {
  const accounts = callerAccounts(place);
  const room = Math.floor((MAX_POLICY_BYTES - EMPTY_POLICY.length) / bytesPerAccount(place));
  if (accounts.length <= room) return [];
  const reason = `name ${accounts.length} accounts, and the policy of the function has room for ${room}: its ${MAX_POLICY_BYTES} bytes take two statements for each`;
  return [{ path: ['accessRules'], reason }];
}

/** @see https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const MAX_POLICY_BYTES = 20_480;

/** As Lambda shows it, always with this id. */
const EMPTY_POLICY = '{"Version":"2012-10-17","Id":"default","Statement":[]}';

/** The two statements that an account needs, each with the comma after it. */
function bytesPerAccount({ name, account, region, accessRules }: Place): number {
  const partition = parseRoleArn(accessRules[0]?.role ?? '')?.partition ?? 'aws';
  const statement = (Action: string, Condition: object) => ({
    // CloudFormation chooses it; 100 characters is the most that Lambda takes.
    Sid: 'x'.repeat(100),
    Effect: 'Allow',
    Principal: { AWS: `arn:${partition}:iam::${account}:root` },
    Action,
    Resource: `arn:${partition}:lambda:${region}:${account}:function:${functionName(name)}:${ALIAS}`,
    Condition,
  });
  return [
    statement('lambda:InvokeFunctionUrl', { StringEquals: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' } }),
    statement('lambda:InvokeFunction', { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } }),
  ].reduce((bytes, each) => bytes + JSON.stringify(each).length + ','.length, 0);
}
