// Plain JavaScript in old syntax, because it must run on the Node versions that it rejects.
const [major, minor] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `This project runs on Node 22.18 or newer (24 in Lambda); this is ${process.version}.\n` +
      'On Linux and Windows "npm ci" installs Node 24: run it again without --omit=optional.\n' +
      'On macOS install the version in .nvmrc, for example with "nvm install".\n',
  );
  process.exit(1);
}
import('commander').catch(() => {
  process.stderr.write('Packages are missing: run "npm ci --include=dev".\n');
  process.exitCode = 1;
});
