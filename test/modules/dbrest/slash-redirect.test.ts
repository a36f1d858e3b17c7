import { test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';

test('the root of an API without its last slash redirects to the one with it, with the query', async (t) => {
  const gw = await startGateway(
    t,
    `server {
       absolute_redirect off;
       location /rest/ { dbrest_pass "host=127.0.0.1 port=1 dbname=none user=nobody"; dbrest_anon_role anon; }
     }`,
  );
  await gw.expect('GET /rest?select=id', { status: 301, location: '/rest/?select=id' });
  await gw.expect('GET /restful', { status: 404 });
});
