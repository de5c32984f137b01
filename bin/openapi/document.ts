import { AWS_ERROR_SCHEMA } from './aws-answers.ts';
import { CHECK_OPERATION } from './check-operation.ts';
import { HEADERS } from './headers.ts';
import { componentSchemas } from './schemas.ts';
import { TOKEN_OPERATION } from './token-operation.ts';

/** The whole HTTP contract as an OpenAPI description. */
export function openapiDocument() {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Token broker',
      version: CONTRACT_VERSION,
      summary: "Issues the services' access tokens to internal services on AWS.",
      description: DESCRIPTION,
    },
    servers: SERVERS,
    security: [{ sigv4: [] }],
    paths: { '/token': { post: TOKEN_OPERATION }, '/check': { post: CHECK_OPERATION } },
    components: {
      securitySchemes: { sigv4: SIGV4 },
      headers: HEADERS,
      schemas: { ...componentSchemas(), AwsError: AWS_ERROR_SCHEMA },
    },
  };
}

/** Of the contract, not of the code: major when a caller can break, minor when something is added. */
const CONTRACT_VERSION = '2.0.0';

const DESCRIPTION = `JSON in, JSON out; a form with the same members does as well. No query parameters.

Everything but a 200 of the broker is a problem (RFC 9457). 403: the caller was refused. 424: no retry helps until an
operator acts, also when \`Retry-After\` says when the broker asks the service again. 5xx: trying again makes sense, after
\`Retry-After\` where there is one. 429, 502, and an answer without a \`type\` come from AWS, in front of the broker.

Ignore members that you do not know: answers can have more of them one day.
`;

const SERVERS = [
  {
    url: 'https://{id}.lambda-url.{region}.on.aws',
    description: 'The Function URL of one environment, output `Url` of its stack.',
    variables: { id: { default: 'example' }, region: { default: 'eu-west-1' } },
  },
  { url: 'http://127.0.0.1:8788', description: '`npm start`, signed for us-east-1.' },
];

const SIGV4 = {
  type: 'apiKey',
  in: 'header',
  name: 'Authorization',
  description:
    'Signature Version 4 of AWS with the keys of an IAM role, for the AWS service `lambda` in the region of the Function URL. Every AWS SDK can sign so, and curl with `--aws-sigv4`.',
  'x-amazon-apigateway-authtype': 'awsSigv4',
};
