// What the test runs wrote (vitest's JSON reports), for `.ci/run`.
//   results.mjs failed REPORT          prints the files that failed; exits with 1 if there are none, or more than three
//   results.mjs count STATUS FOLDER    prints `N passed, N failed`; `NAME-alone.json` replaces those files of `NAME.json`
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const MOST_AGAIN = 3;

const filesOf = (report) => (existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : []);

function failed(report) {
  const files = filesOf(report).filter((file) => file.status === 'failed');
  if (files.length === 0 || files.length > MOST_AGAIN) process.exit(1);
  console.log(files.map((file) => file.name).join(' '));
}

function count(status, folder) {
  const names = readdirSync(folder).filter((name) => !name.endsWith('-alone.json'));
  const files = names.flatMap((name) => {
    const again = filesOf(join(folder, name.replace('.json', '-alone.json')));
    const isAgain = new Set(again.map((file) => file.name));
    return [...filesOf(join(folder, name)).filter((file) => !isAgain.has(file.name)), ...again];
  });
  const tests = files.flatMap((file) => file.assertionResults);
  const total = (wanted) => tests.filter((test) => test.status === wanted).length;
  // A file that cannot even be loaded counts as one failure: it has no tests to count.
  const broken = files.filter(
    (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  );
  const failures = total('failed') + broken.length;
  console.log(`${total('passed')} passed, ${failures || (status === '0' ? 0 : 1)} failed`);
}

const [, , command, ...rest] = process.argv;
if (command === 'failed') failed(...rest);
else count(...rest);
