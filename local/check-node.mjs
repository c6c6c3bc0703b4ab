/** Runs before anything that an older Node.js cannot read. */
if (!process.features.typescript) {
  process.stderr.write(
    `parley: Node.js ${process.versions.node} cannot run it: it needs Node.js 24, which npm ci --ignore-scripts does not install. Run: npm rebuild node\n`,
  );
  process.exit(1);
}
