import { expect, test } from 'vitest';
import { directoryWith, gw } from '../../cli/command.ts';
import { freePort } from '../../harness/ports.ts';
import { startProvider } from './provider.ts';
import { block } from './site.ts';

const SERVER = 'server { listen 127.0.0.1:8080; location / { auth_oidc idp; } }';

test('check --live tells where nobody can log in, and only that', async (t) => {
  const provider = await startProvider(t);
  const incomplete = await startProvider(t);
  incomplete.metadata = { token_endpoint: 'http://provider.example/token' };
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const issuers = {
    up: provider.issuer,
    down: nobody,
    renamed: `${provider.issuer}/`,
    incomplete: incomplete.issuer,
  };
  const files = Object.entries(issuers).map(([name, issuer]) => [
    `${name}.conf`,
    `http {\n${block({ issuer }).replace(/ client_secret "[^"]*";/, '')}\n${SERVER} }\n`,
  ]);
  const dir = directoryWith(t, Object.fromEntries(files) as Record<string, string>);
  const said = async (name: string): Promise<string> =>
    (await gw(dir, ['check', '--live', '-f', 'concise', `${name}.conf`])).stdout;
  expect(await said('up')).toBe('');
  const begin = '.conf:3:46: error GW983 provider-unreachable: nobody can log in at "idp": ';
  expect(await said('down')).toMatch(new RegExp(`^down${begin}.*ECONNREFUSED`));
  expect(await said('renamed')).toBe(
    `renamed${begin}its metadata name another issuer: "${provider.issuer}"\n`,
  );
  expect(await said('incomplete')).toBe(
    `incomplete${begin}the metadata of the provider has no usable "token_endpoint"\n`,
  );
});
