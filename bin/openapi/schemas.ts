import * as z from 'zod/mini';
import { checkRequestSchema, issueRequestSchema } from '../../functions/broker/http/request.ts';
import {
  checkAnswerSchema,
  problemAnswerSchema,
  responseShapeSchema,
  shapeMemberSchema,
  tokenAnswerSchema,
} from './answer-schemas.ts';

/** The JSON schemas of all bodies, made from the schemas that the handler parses with and the types it answers with. */
export function componentSchemas(): Readonly<Record<string, object>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, { schema }] of Object.entries(COMPONENTS)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => `#/components/schemas/${id}`,
    // What callers may rely on: an answer can have more members one day.
    io: 'input',
    override: ({ jsonSchema }) => {
      // It repeats in 250 characters what the format says.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
    },
  });
  return Object.fromEntries(
    Object.entries(COMPONENTS).map(([id, { about, members }]) => [
      id,
      withDescriptions(schemas[id] ?? {}, about, members),
    ]),
  );
}

function withDescriptions(
  schema: z.core.JSONSchema.BaseSchema,
  description: string,
  members: Readonly<Record<string, string>>,
): object {
  const { $schema: _draft, $id: _id, properties = {}, ...rest } = schema;
  const described = Object.entries(properties).map(([name, property]) => [
    name,
    { ...(typeof property === 'object' && property), description: members[name] },
  ]);
  return { description, ...rest, properties: Object.fromEntries(described) };
}

/** One component; every member has a description. */
function component<Shape extends z.core.$ZodLooseShape>(
  schema: z.ZodMiniObject<Shape>,
  about: string,
  members: Readonly<Record<keyof Shape & string, string>>,
) {
  return { schema, about, members };
}

const PAIR = {
  client: 'The party whose credential the broker holds.',
  service: 'Who issues the token; one of the services that the broker is set up for.',
};

const COMPONENTS = {
  TokenRequest: component(issueRequestSchema, 'What `POST /token` asks for.', {
    ...PAIR,
    min_ttl:
      'For how many seconds the token should still live. A target: a new token is requested when the present one has less and a new one would have more. `expires_in` says what came of it.',
    refused:
      'The `fingerprint` of a token that the service turned away. If that token is still the current one, its successor is requested; otherwise the current one is issued. At most one such request per pair and 30 seconds.',
  }),
  CheckRequest: component(checkRequestSchema, 'What `POST /check` asks for.', {
    ...PAIR,
    stage: 'Which version of the credential; `AWSCURRENT` when left out.',
  }),
  Token: component(
    tokenAnswerSchema,
    "A token and how long it lives. Further members are those of the service's answer that its settings pass through.",
    {
      access_token: 'The token, as the service gave it. Treat it as opaque.',
      token_type: 'The scheme of the `Authorization` header that carries it, mostly `Bearer`.',
      expires_in:
        'Whole seconds that are left. Never less than 30 seconds or 20 % of its life time, whichever is shorter.',
      expires_at: 'When it ends, on the clock of the broker, in UTC.',
      expiry_source:
        "How the broker knows: from the service's answer, from the token itself, from its settings, or not at all.",
      fingerprint: "The first 16 hexadecimal digits of the token's SHA-256: for logs, and for `refused`.",
      scope: 'What the service granted, when it says so.',
    },
  ),
  Check: component(checkAnswerSchema, 'What is known of a credential. It never holds a token.', {
    ...PAIR,
    stage: 'Which version of the credential was looked at.',
    finding: 'Whether the credential works, or what is in its way.',
    version: 'The secret version that was looked at; absent when there is none.',
    checked_at: 'When this was found out, in UTC: perhaps before this request.',
    proven_by:
      'A token request of this check (`request`) or of callers before it (`traffic`), or what keeps the broker from making one.',
    expires_in: 'How long the token that proves the credential still lives, in whole seconds.',
  }),
  Problem: component(
    problemAnswerSchema,
    'A failure (RFC 9457). Decide by `retryable`, then by `type`; types can be added. `title` and `detail` are for people.',
    {
      type: 'Which problem; a word, not a link.',
      title: 'The same for every problem of this type.',
      status: 'The status of this answer.',
      detail: 'What happened this time. Never holds a token, a credential, or a value of the answer of the service.',
      retryable: 'Whether the same request may succeed later without anybody acting.',
      request_id: "What the broker's operators need to find it in the log.",
      response_shape: 'What the unusable answer of the service looked like.',
    },
  ),
  ResponseShape: component(responseShapeSchema, "The form of a service's answer, without any of its values.", {
    status: 'The status of the answer of the service.',
    contentType: 'Its media type; `none` when it names none, `other` when it is not a well-known one.',
    bytes: 'How long its body is.',
    members: 'Its members in their order.',
  }),
  ShapeMember: component(shapeMemberSchema, 'One member of an answer, without its value.', {
    path: 'Its dotted path; `$` is the body itself. Names that are not plain words are masked.',
    type: 'The type of its value.',
    length: 'Characters of a string, entries of an array, members of an object.',
  }),
};
