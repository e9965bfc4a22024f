"""How the page of a report looks, in light and in dark."""

STYLE = """
:root { --ink: #1d2329; --soft: #5b6670; --line: #e3e7ea; --paper: #fff; --box: #f5f7f8;
        --good: #00795a; --mid: #0067a3; --bad: #b84a00; --allowed: #d7efe6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8eb; --soft: #9aa5ae; --line: #343b41; --paper: #15191c; --box: #1f2529;
          --good: #35c79c; --mid: #5ab4ee; --bad: #ff9a56; --allowed: #1d4438; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto;
       padding: 0 1rem; color: var(--ink); background: var(--paper); }
h1 { margin: 0; } h2 { margin-top: 3.5rem; border-bottom: 2px solid var(--line); }
h3 { margin: 2.5rem 0 .5rem; } .lead { font-size: 1.15rem; }
a { color: inherit; text-decoration-color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line);
         vertical-align: top; }
.small { font-size: .82rem; color: var(--soft); }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.passed, .confirmed { color: var(--good); } .corrected { color: var(--mid); }
.refuted { color: var(--bad); } .failed { color: var(--bad); font-weight: bold; }
.matrix th { width: 11rem; } .matrix td.cells { line-height: 1; }
.cell { display: inline-block; width: 1.25rem; height: 1.25rem; margin: 1px; border-radius: 3px;
        text-align: center; line-height: 1.25rem; font-size: .8rem; text-decoration: none;
        color: #fff !important; }
.cell.confirmed { background: #00795a; } .cell.corrected { background: #0067a3; }
.cell.refuted { background: #b84a00; } .cell.new { outline: 2px solid var(--ink); }
.made { margin: 1.5rem 0; } .made th, details th { width: 7rem; }
.errata { background: var(--box); border-left: 4px solid var(--mid); padding: .2rem 1rem 1rem;
          margin: 1rem 0; } .errata h3 { margin: .6rem 0; } .errata th { white-space: nowrap; }
.claims td:nth-child(2) { width: 40%; } .claims td:last-child { width: 18%; }
.claims tr:target { background: var(--box); outline: 2px solid var(--mid); }
.bar { overflow: visible; } .bar .allowed { fill: var(--allowed); }
.bar .value { fill: var(--ink); }
.bar .bound { stroke: var(--soft); stroke-width: 1.5; }
img { max-width: 100%; margin: .5rem 0; background: #fff; border-radius: 4px; }
code { font-size: .92em; background: var(--box); padding: 0 .2em; border-radius: 3px; }
summary { cursor: pointer; color: var(--soft); margin: .5rem 0; }
.metrics { width: auto; } .metrics td { padding: .1rem 2rem .1rem 0; }
@media print { details { display: none; } article { break-inside: avoid; } }
"""
