import { expect, test } from 'vitest';
import { load } from '../../src/pipeline.ts';

const ZONE = 'shared_dict_zone zone=feature_flags:64k;';
const warned = '"control_api" can be called by everybody';

const cases = [
  { conf: 'listen 80; location / { control_api; }', warned: true },
  { conf: 'location / { control_api; }', warned: true },
  { conf: 'listen 127.0.0.1:80; listen [::]:80; location / { control_api; }', warned: true },
  { conf: 'listen 80; location / { location /a { control_api flag_set; } return 204; }', warned: true },
  { conf: 'listen 80; location / { allow 10.0.0.0/8; control_api; }', warned: true },
  { conf: 'listen 80; location / { control_api ready; }', warned: true },
  { conf: 'listen 80; location / { allow 10.0.0.0/8; deny all; control_api; }', warned: false },
  { conf: 'listen 80; deny all; location / { control_api; }', warned: false },
  { conf: 'listen 80; location / { internal; control_api; }', warned: false },
  {
    conf: 'listen 127.0.0.1:80; listen [::1]:80; listen unix:/run/gw.sock; location / { control_api; }',
    warned: false,
  },
  { conf: 'listen localhost:80; location / { control_api; }', warned: false },
  {
    conf: 'listen 80; location = /h { control_api health; } location = /l { control_api live; }',
    warned: false,
  },
  { conf: 'listen 80; location / { return 204; }', warned: false },
];

function warnings(server: string, advise: boolean): string[] {
  const text = `events {} http { ${ZONE} server { ${server} } }`;
  const { report } = load({ confFile: '/gw.conf', name: 'gw.conf', prefix: '/', text }, { advise });
  return report.faults.map(({ message }) => message);
}

for (const { conf, warned: isWarned } of cases) {
  test(`a check ${isWarned ? 'warns of' : 'accepts'} ${conf}`, () => {
    expect(warnings(conf, true)).toEqual(isWarned ? [warned] : []);
  });
}

test('a start says nothing of it', () => {
  for (const { conf } of cases) expect(warnings(conf, false)).toEqual([]);
});
