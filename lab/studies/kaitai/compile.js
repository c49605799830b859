// Compiles a Kaitai Struct description to Python: compile.js MODULES DESCRIPTION FOLDER

const fs = require("fs");
const [modules, description, folder] = process.argv.slice(2);
const compiler = require(`${modules}/kaitai-struct-compiler`);
const yaml = require(`${modules}/yaml`);

compiler.compile("python", yaml.parse(fs.readFileSync(description, "utf-8")), null, false).then(
  (files) => Object.entries(files).forEach(([name, text]) => fs.writeFileSync(`${folder}/${name}`, text)),
  (error) => {
    console.error(String(error));
    process.exit(1);
  },
);
