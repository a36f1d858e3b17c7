import { formatFaults } from '../grammar/index.ts';
import { dump, tree } from '../src/lookups.ts';
import { load } from '../src/pipeline.ts';
import type { Options } from './options.ts';
import { sourceOf } from './source.ts';

/** `-t` and `-T`: loads the configuration without opening anything, in nginx's words. */
export function test(options: Options): number {
  const source = sourceOf(options);
  const { plan, report, tree: read } = load(source);
  process.stderr.write(formatFaults(report, { program: 'gw', color: process.stderr.isTTY }));
  if (!plan || !read) {
    process.stderr.write(`gw: configuration file ${source.confFile} test failed\n`);
    return 1;
  }
  if (options.quiet !== true) {
    process.stderr.write(`gw: the configuration file ${source.confFile} syntax is ok\n`);
    process.stderr.write(`gw: configuration file ${source.confFile} test is successful\n`);
  }
  if (options.tree === true) process.stdout.write(tree(plan));
  if (options.test === 'dump') process.stdout.write(dump(read));
  return 0;
}
