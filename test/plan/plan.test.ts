import { expect, test } from 'vitest';
import { load } from '../../src/pipeline.ts';

const CONF = `
worker_processes 3;
error_log logs/e.log warn;
http {
  log_format f "$uri $1 $named";
  server {
    listen 8080 default_server;
    server_name a.example ~^(?<named>.+)\\.b$;
    set $x "$arg_a";
    location ~ ^/(\\d+)$ { return 200 "$x"; }
    location @n { return 204; }
    location / { access_log logs/a.log f; location /deep { return 404; } }
  }
}`;

const plan = () => load({ confFile: '/etc/gw/gw.conf', name: 'gw.conf', prefix: '/etc/gw', text: CONF }).plan;

test('a plan is plain data: it survives a structured clone unchanged', () => {
  expect(structuredClone(plan())).toEqual(plan());
});

test('a plan is frozen in depth', () => {
  const waiting: unknown[] = [plan()];
  for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
    if (typeof item !== 'object' || item === null) continue;
    expect(Object.isFrozen(item)).toBe(true);
    waiting.push(...Object.values(item).filter((value) => value !== undefined));
  }
});

test('a range of ports is one port each, and one server serves them all', () => {
  const text = 'http { server { listen [::1]:9001-9003 default_server; } server { listen [::1]:9003; } }';
  const { plan: loaded } = load({ confFile: '/gw.conf', name: 'gw.conf', prefix: '/', text });
  expect(loaded?.ports.map(({ address, servers }) => [address, servers])).toEqual([
    [{ kind: 'inet', host: '::1', port: 9001 }, [0]],
    [{ kind: 'inet', host: '::1', port: 9002 }, [0]],
    [{ kind: 'inet', host: '::1', port: 9003 }, [0, 1]],
  ]);
});

test('loading the same text twice gives the same plan', () => {
  expect(plan()).toEqual(plan());
});

test('a configuration that is refused gives no plan', () => {
  const { plan: none, report } = load({
    confFile: '/gw.conf',
    name: 'gw.conf',
    prefix: '/',
    text: 'nonsense;',
  });
  expect(none).toBeUndefined();
  expect(report.failed).toBe(true);
});

test('the error log of the command line is used unless the configuration names one', () => {
  const logsOf = (text: string) =>
    load({ confFile: '/gw.conf', name: 'gw.conf', prefix: '/', errorLog: 'e.log', text }).plan?.main.core
      .errorLogs;
  expect(logsOf('')).toEqual([{ path: 'e.log', level: 'error' }]);
  expect(logsOf('error_log own.log warn;')).toEqual([{ path: 'own.log', level: 'warn' }]);
  expect(logsOf('http { error_log own.log; }')).toEqual([{ path: 'e.log', level: 'error' }]);
});
