import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { startProgram } from '../../harness/scripted-program.ts';

test('uwsgi_string is sent after the parameters, where a modifier expects it', async (t) => {
  const program = await startProgram(t, 'uwsgi', () => ['Content-Type: text/plain\r\n\r\n', 'run']);
  const gw = await startGateway(
    t,
    `server {
       location / {
         uwsgi_modifier1 22; uwsgi_string "code; to run"; uwsgi_param CONTENT_LENGTH 12;
         uwsgi_pass 127.0.0.1:${program.port};
       }
     }`,
  );
  await gw.expect('GET /', { status: 200, body: 'run' });
  expect(program.heard().map(({ body }) => String(body))).toEqual(['code; to run']);
});
