A page for a browser is read by what it holds.

  $ printf 'server;main;parse 30\nserver;main;parse;sys_read_[k] 10\nserver;main;idle 60\n' > a.folded
  $ gosym report a.folded --html a.html 2> told; sed 's/,.*//' told
  wrote a.html
  next: open it in a browser

  $ gosym report a.html --folded
  server;main;idle 60
  server;main;parse 30
  server;main;parse;sys_read_[k] 10

  $ gosym report a.html --time 1,2; gosym report a.html --by cpu
  gosym: error: 'a.html': a page for a browser has no times of its samples: --time is for recordings
  gosym: error: 'a.html': a page for a browser does not say which cpu: --by cpu is for recordings
  [2]

  $ printf '<!doctype html><p>' > other.html; gosym report other.html
  gosym: error: 'other.html': a page for a browser: there is no profile in it, or it is cut short
  gosym: hint: gosym reads the pages that gosym report --html writes
  [1]

  $ sed '/id="profile"/,$d' a.html > cut.html; gosym report cut.html
  gosym: error: 'cut.html': a page for a browser: there is no profile in it, or it is cut short
  gosym: hint: gosym reads the pages that gosym report --html writes
  [1]

A page that compares two profiles has both.

  $ printf 'server;main;parse 60\nserver;main;idle 40\n' > b.folded
  $ gosym diff a.folded b.folded --html d.html; grep -c 'id="profile"' d.html
  1

  $ gosym diff a.folded b.folded > of-both; gosym diff d.html | diff of-both - && wc -l < of-both
  8

  $ gosym report d.html --side before --folded; gosym report d.html --side after --folded
  server;main;idle 60
  server;main;parse 30
  server;main;parse;sys_read_[k] 10
  server;main;idle 40
  server;main;parse 60

  $ gosym report d.html
  gosym: error: 'd.html': a page for a browser: it compares two profiles
  gosym: hint: gosym report --side before, or after, shows one, and gosym diff compares them again
  [1]

  $ gosym report a.html --side after; gosym report a.folded --side before; gosym diff a.html
  gosym: error: 'a.html': a page for a browser: it has no sides, as a page of gosym diff has
  gosym: error: 'a.folded': folded text: it has no sides, as a page of gosym diff has
  gosym: error: 'a.html': a page for a browser: it has no sides, as a page of gosym diff has
  gosym: hint: gosym diff before.raw after.raw, or gosym diff a1.raw a2.raw -- b1.raw b2.raw
  [2]

A picture has a tooltip for each box.

  $ gosym report a.folded --svg - | grep -o '<title>.*</title>'
  <title>all: 100 samples, 100.00 %</title>
  <title>server: 100 samples, 100.00 %</title>
  <title>main: 100 samples, 100.00 %</title>
  <title>idle: 60 samples, 60.00 %</title>
  <title>parse: 40 samples, 40.00 %</title>
  <title>sys_read: 10 samples, 10.00 %</title>
