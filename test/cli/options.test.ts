import { expect, test } from 'vitest';
import { parseOptions } from '../../bin/options.ts';

const cases: readonly { args: readonly string[]; gives: ReturnType<typeof parseOptions> }[] = [
  { args: [], gives: {} },
  { args: ['-?'], gives: { help: true } },
  { args: ['-h'], gives: { help: true } },
  { args: ['--help'], gives: { help: true } },
  { args: ['-v'], gives: { version: 'short' } },
  { args: ['--version'], gives: { version: 'short' } },
  { args: ['-V'], gives: { version: 'long' } },
  { args: ['-t'], gives: { test: 'check' } },
  { args: ['-T'], gives: { test: 'dump' } },
  { args: ['-tq'], gives: { test: 'check', quiet: true } },
  { args: ['-qt'], gives: { test: 'check', quiet: true } },
  { args: ['-q', '-T'], gives: { test: 'dump', quiet: true } },
  { args: ['-c', 'a.conf'], gives: { confFile: 'a.conf' } },
  { args: ['-ca.conf'], gives: { confFile: 'a.conf' } },
  { args: ['-tca.conf'], gives: { test: 'check', confFile: 'a.conf' } },
  { args: ['-tqc', 'a.conf'], gives: { test: 'check', quiet: true, confFile: 'a.conf' } },
  { args: ['-p', '/srv', '-c', 'a'], gives: { prefix: '/srv', confFile: 'a' } },
  { args: ['-p/srv'], gives: { prefix: '/srv' } },
  { args: ['-g', 'daemon off;'], gives: { globals: 'daemon off;' } },
  { args: ['-e', 'stderr'], gives: { errorLog: 'stderr' } },
  { args: ['-s', 'reload'], gives: { signal: 'reload' } },
  { args: ['-squit'], gives: { signal: 'quit' } },
  { args: ['-c', '-t'], gives: { confFile: '-t' } },
  { args: ['-c', 'a', '-c', 'b'], gives: { confFile: 'b' } },
  { args: ['-'], gives: {} },
  { args: ['-z'], gives: 'invalid option: "z"' },
  { args: ['-tz'], gives: 'invalid option: "z"' },
  { args: ['-t', 'file'], gives: 'invalid option: "file"' },
  { args: ['--tets'], gives: 'invalid option: "-"' },
  { args: ['-c'], gives: 'option "-c" requires file name' },
  { args: ['-tc'], gives: 'option "-c" requires file name' },
  { args: ['-p'], gives: 'option "-p" requires directory name' },
  { args: ['-g'], gives: 'option "-g" requires parameter' },
  { args: ['-e'], gives: 'option "-e" requires file name' },
  { args: ['-s'], gives: 'option "-s" requires parameter' },
  { args: ['-s', 'restart'], gives: 'invalid option: "-s restart"' },
  { args: ['-srestart'], gives: 'invalid option: "-s restart"' },
];

for (const { args, gives } of cases) {
  test(`the options ${JSON.stringify(args)} mean ${JSON.stringify(gives)}`, () => {
    expect(parseOptions(args)).toEqual(gives);
  });
}
