import * as oauth from 'oauth4webapi';

const { TOKEN_URL = '', KEY = '' } = process.env;
const server = { issuer: new URL(TOKEN_URL).origin, token_endpoint: TOKEN_URL };
const tell = (told) => process.stdout.write(`${JSON.stringify(told)}\n`);

async function ask(client_id) {
  const client = { client_id };
  const parameters = new URLSearchParams({ scope: 'customer-insights' });
  // It takes plain http for this machine only when told so.
  const options = { [oauth.allowInsecureRequests]: true };
  const secret = oauth.ClientSecretPost(KEY);
  const response = await oauth.clientCredentialsGrantRequest(server, client, secret, parameters, options);
  return oauth.processClientCredentialsResponse(server, client, response);
}

tell({ token: (await ask('acme')).access_token });
await ask('globex').then(tell, (error) => tell({ denied: error.error }));
// It keeps no tokens: the application itself asks again.
tell({ again: (await ask('acme')).access_token });
