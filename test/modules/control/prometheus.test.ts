import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';

/** The values by name and labels. */
function valuesOf(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.replace(/ [^ ]*$/, ''), Number(/[^ ]*$/.exec(line)?.[0])]));
}

test('prometheus_metrics shows the requests of all workers under the names of nginz, without its own', async (t) => {
  const gw = await startGateway(
    t,
    'server { location / { return 204; } location /no { return 404; } location = /metrics { prometheus_metrics; } }',
    { workers: 3 },
  );
  for (let n = 0; n < 6; n++) await gw.fetch('/');
  await gw.fetch('/no');
  await gw.fetch('/metrics');
  const { headers, body } = await gw.expect('GET /metrics', { status: 200 });
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const values = valuesOf(body);
  expect(values.get('nginx_up')).toBe(1);
  expect(values.get('nginx_http_requests_total')).toBe(7);
  const classes = ['1xx', '2xx', '3xx', '4xx', '5xx'].map((status) =>
    values.get(`nginx_http_requests_by_status{status="${status}"}`),
  );
  expect(classes).toEqual([0, 6, 0, 1, 0]);
  const { total, infinite, sum } = {
    total: values.get('nginx_http_request_duration_seconds_count'),
    infinite: values.get('nginx_http_request_duration_seconds_bucket{le="+Inf"}'),
    sum: values.get('nginx_http_request_duration_seconds_sum'),
  };
  expect([total, infinite]).toEqual([7, 7]);
  expect(sum).toBeGreaterThanOrEqual(0);
  expect(values.has('nginx_http_request_duration_seconds_bucket{le="0.005"}')).toBe(true);
  await gw.expect('POST /metrics', { status: 405 });
  await gw.expect('HEAD /metrics', { status: 200, body: '' });
});
