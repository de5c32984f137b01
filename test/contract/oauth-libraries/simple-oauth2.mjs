import simpleOAuth2 from 'simple-oauth2';

const { TOKEN_URL = '', KEY: secret = '' } = process.env;
const { origin: tokenHost, pathname: tokenPath } = new URL(TOKEN_URL);
const scope = 'customer-insights';
const clientOf = (id) => new simpleOAuth2.ClientCredentials({ client: { id, secret }, auth: { tokenHost, tokenPath } });
const tell = (told) => process.stdout.write(`${JSON.stringify(told)}\n`);

const acme = clientOf('acme');
const { token } = await acme.getToken({ scope });
tell({ token: token.access_token });

await clientOf('globex')
  .getToken({ scope })
  .then(tell, (error) => tell({ denied: error.data.payload.error }));

const held = acme.createToken({ ...token, expires_at: new Date(0) });
if (held.expired()) tell({ again: (await acme.getToken({ scope })).token.access_token });
